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
/// A key remembers the property's slot in the last two hierarchies of entities, so that an access costs one or two
/// comparisons, for objects of different subentities too. May be shared between threads.
public final class AttributeKey<Value: AttributeConvertible>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and this class adds no property.

  /// Makes a key for the property of a name.
  public override init(_ name: String) { super.init(name) }
}

/// Names a to-one relationship for a typed accessor. Finds the relationship as fast as an ``AttributeKey`` its
/// attribute.
public final class ToOneKey<Target: ManagedObject>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and this class adds no property.

  /// Makes a key for the property of a name.
  public override init(_ name: String) { super.init(name) }

  override func location(in entity: EntityDescription) -> Location? {
    guard let relationship = entity.relationship(named: name), let slot = relationship.slot else { return nil }
    return Location(index: slot, entity: relationship.entity)
  }
}

/// Names an unordered to-many relationship for a typed accessor. Finds the relationship as fast as an ``AttributeKey``
/// its attribute.
public final class ToManyKey<Target: ManagedObject>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and this class adds no property.

  /// Makes a key for the property of a name.
  public override init(_ name: String) { super.init(name) }

  override func location(in entity: EntityDescription) -> Location? { Location(toMany: name, in: entity) }
}

/// Names an ordered to-many relationship for a typed accessor. Finds the relationship as fast as an ``AttributeKey``
/// its attribute.
public final class OrderedToManyKey<Target: ManagedObject>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and this class adds no property.

  /// Makes a key for the property of a name.
  public override init(_ name: String) { super.init(name) }

  override func location(in entity: EntityDescription) -> Location? { Location(toMany: name, in: entity) }
}

/// A property's name, with the property's index in the last two hierarchies of entities looked up.
///
/// The index is the slot of an attribute, a composite or a to-one relationship, and the index among the relationships
/// of the entity for a to-many relationship.
public class PropertyKey: @unchecked Sendable {
  // Sendable: all properties are constants or atomics; the class is not final only because of its generic subclasses.
  //
  // A word of the cache states: "the property has this index in every entity whose token is in this range". The
  // statement stays true as long as the process:
  // - The range has the tokens of the entity that declares the property and of all its subentities. `ModelLinker` gives
  //   the entities of a hierarchy tokens that follow each other, ancestors first, and no token to a second entity.
  // - A subentity's slots and relationships begin with those of its superentity, so that an inherited property has the
  //   same index in each of these entities. Descriptions never change.
  // A word is loaded and stored as a whole, and is complete in itself. So relaxed loads and stores suffice: a thread
  // that loads an old word, or overwrites the word of another thread, costs a lookup and never sees a wrong index.

  /// The name of the property in the model.
  public final let name: String
  /// The word of the cache for the last hierarchy looked up; zero for none.
  private final let first = Atomic<UInt64>(0)
  /// The former word of `first`, for programs that use the same keys with two models.
  private final let second = Atomic<UInt64>(0)

  init(_ name: String) { self.name = name }

  /// The index of the property in an entity; `nil` when the entity has no such property.
  func location(in entity: EntityDescription) -> Location? {
    guard let attribute = entity.attribute(named: name) else { return nil }
    return Location(index: attribute.slot, entity: attribute.entity)
  }

  /// The property's index in an entity; negative when the entity has no such property.
  @inline(__always) final func slot(in entity: EntityDescription) -> Int {
    cachedIndex(entity.token) ?? findIndex(in: entity)
  }

  /// The property's index in the entity of an object; negative when the entity has no such property.
  @inline(__always) final func slot(in object: ManagedObject) -> Int {
    cachedIndex(object.entityToken) ?? findIndex(in: object.entity)
  }

  @inline(__always) private final func cachedIndex(_ token: UInt32) -> Int? {
    Self.index(in: first.load(ordering: .relaxed), token) ?? Self.index(in: second.load(ordering: .relaxed), token)
  }

  /// The index in a word of the cache if the token is in the word's range.
  @inline(__always) private static func index(in word: UInt64, _ token: UInt32) -> Int? {
    // An empty word has a count of zero, which no difference is below.
    let distance = token &- UInt32(truncatingIfNeeded: word >> 32)
    let count = UInt32(truncatingIfNeeded: word >> 16) & 0xFFFF
    return distance < count ? Int(word & 0xFFFF) : nil
  }

  /// Looks the property up by its name, and caches the index.
  @inline(never) private final func findIndex(in entity: EntityDescription) -> Int {
    guard let location = location(in: entity) else { return -1 }
    if let word = location.word {
      second.store(first.load(ordering: .relaxed), ordering: .relaxed)
      first.store(word, ordering: .relaxed)
    }
    return location.index
  }
}

extension PropertyKey {
  /// The index of a property, with the entity that declares the property.
  struct Location {
    let index: Int
    let entity: EntityDescription

    init(index: Int, entity: EntityDescription) {
      self.index = index
      self.entity = entity
    }

    /// The location of a to-many relationship among the relationships of an entity; `nil` for any other property.
    init?(toMany name: String, in entity: EntityDescription) {
      guard let relationship = entity.relationship(named: name), relationship.isToMany,
        let index = entity.relationships.firstIndex(of: relationship)
      else { return nil }
      self.init(index: index, entity: relationship.entity)
    }

    /// The word of the cache: the first token in the upper half, then the number of tokens and the index. `nil` for an
    /// index that does not fit. A number that does not fit is cut, which leaves subentities out of the cache.
    var word: UInt64? {
      guard index <= 0xFFFF else { return nil }
      return UInt64(entity.token) << 32 | UInt64(min(entity.hierarchyCount, 0xFFFF)) << 16 | UInt64(index)
    }
  }
}
