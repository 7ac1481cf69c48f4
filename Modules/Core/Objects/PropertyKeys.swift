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
/// A key remembers the slot in the last entity that it was used with, so that an access costs one comparison. May be
/// shared between threads.
public final class AttributeKey<Value: AttributeConvertible>: PropertyKey, @unchecked Sendable {
  // Sendable: as its superclass, which is all it has.
  public override init(_ name: String) { super.init(name) }
}

/// Names a to-one relationship for a typed accessor.
public final class ToOneKey<Target: ManagedObject>: PropertyKey, @unchecked Sendable {
  // Sendable: as its superclass, which is all it has.
  public override init(_ name: String) { super.init(name) }

  override func place(in entity: EntityDescription) -> Int? { entity.relationship(named: name)?.slot }
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

/// A property's name, with its slot in the last entity that it was looked up in.
public class PropertyKey: @unchecked Sendable {
  // Sendable: a constant and an atomic; the class is not final for its generic subclasses only.
  public final let name: String
  /// The entity's token in the upper half, the slot in the lower half.
  private final let cache = Atomic<UInt64>(0)

  init(_ name: String) { self.name = name }

  /// The slot of the property in an entity; `nil` when the entity does not have it.
  func place(in entity: EntityDescription) -> Int? { entity.attribute(named: name)?.slot }

  /// The property's slot in an entity; negative when it has no such property.
  @inline(__always) final func slot(in entity: EntityDescription) -> Int {
    knownSlot(entity.token) ?? findSlot(in: entity)
  }

  /// The property's slot in the entity of an object; negative when the entity has no such property.
  @inline(__always) final func slot(in object: ManagedObject) -> Int {
    knownSlot(object.entityToken) ?? findSlot(in: object.entity)
  }

  @inline(__always) private final func knownSlot(_ token: UInt32) -> Int? {
    let known = cache.load(ordering: .relaxed)
    return UInt32(truncatingIfNeeded: known >> 32) == token ? Int(UInt32(truncatingIfNeeded: known)) : nil
  }

  @inline(never) private final func findSlot(in entity: EntityDescription) -> Int {
    guard let slot = place(in: entity) else { return -1 }
    cache.store(UInt64(entity.token) << 32 | UInt64(slot), ordering: .relaxed)
    return slot
  }
}
