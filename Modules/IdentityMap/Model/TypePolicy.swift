/// The settings of a store for the entities of a type.
public struct TypePolicy<T: Identifiable & Sendable>: Sendable {
  /// The rule by which the store retains entities that the program does not use.
  public var lifetime = Lifetime.whileUsed
  /// The time after a write until the entity is stale; `nil` if only an invalidation makes it stale.
  public var staleAfter: Duration?
  /// The time for which the store remembers the stamp of an evicted entity, so that it still rejects older values that
  /// arrive late; `nil` forgets the stamp with the entity. A rejected value is not stored: the caller gets it back, and
  /// follows the entity as soon as a newer value is stored.
  public var stampsOutlive: Duration?
  /// Makes one value of the stored and the incoming one, for sources that send a part of the fields or a page of a
  /// list. Runs under the store's lock. Without it, the incoming value replaces the stored one.
  public var merge: (@Sendable (_ stored: T, _ incoming: T) -> T)?
  /// Whether two values are equal, so that observers are not notified; the default is the `==` of the type. The value
  /// is stored in any case, and every aggregate with the entity shows it.
  public var areEqual: (@Sendable (T, T) -> Bool)?
  /// The size of an entity in bytes, for a lifetime of limited memory; by default the size of the value, without the
  /// memory to which it refers.
  public var cost: @Sendable (T) -> Int = { _ in MemoryLayout<T>.stride }

  init() {}
}

/// The rule by which a store retains entities without observers, aliases and retained aggregates.
public enum Lifetime: Sendable, Equatable {
  /// No such entity stays: the store evicts it at the end of the transaction.
  case whileUsed
  /// Every entity stays until it is removed.
  case pinned
  /// A number of entities stay: the most recently stored or found.
  case last(Int)
  /// An entity stays for a time after it was stored.
  case timeToLive(Duration)
  /// The most recently stored or found entities stay, up to a sum of bytes by the policy's cost.
  case memory(bytes: Int)
}
