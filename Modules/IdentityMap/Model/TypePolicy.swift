/// How a store deals with the entities of a type.
public struct TypePolicy<T: Identifiable & Sendable>: Sendable {
  /// What keeps entities besides those who use them.
  public var lifetime = Lifetime.whileUsed
  /// How long after a write an entity is fresh; without it, until it is invalidated.
  public var staleAfter: Duration?
  /// How long the stamp of an entity is remembered after its eviction, so that older values which arrive late are still
  /// rejected; `nil` forgets the stamp with the entity. A rejected value is not stored: the caller gets it back, and
  /// follows the entity as soon as a newer value is stored.
  public var stampsOutlive: Duration?
  /// Makes one value of the stored and the incoming one, for sources that send a part of the fields or a page of a
  /// list. Runs under the store's lock. Without it, the incoming value replaces the stored one.
  public var merge: (@Sendable (_ stored: T, _ incoming: T) -> T)?
  /// Whether two values are equal, so that observers are not notified; the default is the `==` of the type. The value
  /// is stored in any case, and every aggregate with the entity shows it.
  public var areEqual: (@Sendable (T, T) -> Bool)?
  /// What an entity counts for a lifetime of limited memory, in bytes; its own size without what it refers to by
  /// default.
  public var cost: @Sendable (T) -> Int = { _ in MemoryLayout<T>.stride }

  init() {}
}

/// The reason to keep entities beside observers, aliases and kept aggregates.
public enum Lifetime: Sendable, Equatable {
  /// Nothing else.
  case whileUsed
  /// Every entity stays until it is removed.
  case pinned
  /// So many stay, those stored or found last.
  case last(Int)
  /// An entity stays for a time after it was stored.
  case timeToLive(Duration)
  /// Those stored or found last stay, as many as have together so many bytes by the policy's cost.
  case memory(bytes: Int)
}
