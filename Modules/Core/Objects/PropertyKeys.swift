import Synchronization

/// Names an attribute for a typed accessor.
///
/// ```swift
/// final class Album: ManagedObject {
///   static let titleKey = AttributeKey<String>("title")
///   var title: String {
///     get { self[Self.titleKey] }
///     set { self[Self.titleKey] = newValue }
///   }
/// }
/// ```
/// A key finds its slot once for each entity and remembers the last, so an access costs a comparison.
public final class AttributeKey<Value: AttributeConvertible>: Sendable {
  public let name: String
  @usableFromInline let cache = SlotCache()
  public init(_ name: String) { self.name = name }
}

/// Names a to-one relationship for a typed accessor.
public final class ToOneKey<Target: ManagedObject>: Sendable {
  public let name: String
  @usableFromInline let cache = SlotCache()
  public init(_ name: String) { self.name = name }
}

/// Names an unordered to-many relationship for a typed accessor.
public struct ToManyKey<Target: ManagedObject>: Sendable {
  public let name: String
  public init(_ name: String) { self.name = name }
}

/// Names an ordered to-many relationship for a typed accessor.
public struct OrderedToManyKey<Target: ManagedObject>: Sendable {
  public let name: String
  public init(_ name: String) { self.name = name }
}

/// Remembers where a property is in the entity that was asked last: the entity's token above, the index below.
@usableFromInline final class SlotCache: Sendable {
  @usableFromInline let word = Atomic<UInt64>(0)
  @usableFromInline init() {}

  @inlinable @inline(__always) func slot(in entity: EntityDescription, find: () -> Int) -> Int {
    let known = word.load(ordering: .relaxed)
    if UInt32(truncatingIfNeeded: known >> 32) == entity.token { return Int(UInt32(truncatingIfNeeded: known)) }
    let slot = find()
    word.store(UInt64(entity.token) << 32 | UInt64(slot), ordering: .relaxed)
    return slot
  }
}
