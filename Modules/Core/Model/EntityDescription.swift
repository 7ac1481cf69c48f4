/// An entity of a model in use. Immutable; lives as long as the process.
public final class EntityDescription: @unchecked Sendable {
  // Sendable: a model links its descriptions before it lets them out; nothing changes them afterwards.
  // Safety of `@exclusivity(unchecked)`: for the same reason accesses are reads, which bulk work makes for every record.

  public let name: String
  public let isAbstract: Bool
  /// The names that the entity had in earlier models, the latest first.
  public let formerNames: [String]
  /// The name that the entity had in the model before; the first of ``formerNames``.
  public var renamingIdentifier: String? { formerNames.first }
  public let userInfo: [String: String]
  /// The class of the entity's objects.
  public let objectClass: ManagedObject.Type

  /// The entity that this one inherits from.
  @exclusivity(unchecked) public internal(set) var superentity: EntityDescription?
  /// The entities that inherit from this one directly, in order of declaration.
  @exclusivity(unchecked) public internal(set) var subentities: [EntityDescription] = []
  /// The topmost ancestor, whose hierarchy shares one space of keys and one table. The entity itself, if it has none.
  public internal(set) var root: EntityDescription {
    get { rootEntity }
    set { rootEntity = newValue }
  }
  // A cycle, as all of a model is.
  @exclusivity(unchecked) private var rootEntity: EntityDescription!

  /// All properties: inherited ones first, then attributes, then relationships, in order of declaration.
  @exclusivity(unchecked) public internal(set) var properties: [PropertyDescription] = []
  @exclusivity(unchecked) public internal(set) var propertiesByName: [String: PropertyDescription] = [:]
  /// The attributes, inherited ones included.
  @exclusivity(unchecked) public internal(set) var attributes: [AttributeDescription] = []
  /// The relationships, inherited ones included.
  @exclusivity(unchecked) public internal(set) var relationships: [RelationshipDescription] = []
  /// What each slot of a row holds.
  @exclusivity(unchecked) public internal(set) var slots: [Slot] = []
  /// The number of slots of a row. A subentity's slots begin with its superentity's.
  @exclusivity(unchecked) public internal(set) var slotCount = 0
  /// A row's values for a fresh object.
  @exclusivity(unchecked) public internal(set) var defaultValues: [AttributeValue] = []
  /// The composites, by name: the slots of their parts.
  @exclusivity(unchecked) public internal(set) var composites: [String: Range<Int>] = [:]

  /// Uniqueness constraints, inherited ones included; that of the entity's key, which ``keySetting`` names, is the last
  /// of the entity's own.
  @exclusivity(unchecked) public internal(set) var uniquenessConstraints: [[PropertyDescription]] = []
  /// The constraints that the model declares as such, inherited ones included.
  @exclusivity(unchecked) package internal(set) var declaredConstraints: [[PropertyDescription]] = []
  /// The last of the entity's own constraints, when its key alone adds it.
  @exclusivity(unchecked) package internal(set) var keyConstraint: [PropertyDescription]?
  /// Indexes, inherited ones included.
  @exclusivity(unchecked) public internal(set) var indexes: [[PropertyDescription]] = []
  /// A digest of all that decides how the entity's records are stored.
  public internal(set) var versionHash = VersionHash.empty

  /// A number for this description, unique in this process and never zero.
  @usableFromInline let token: UInt32
  /// The position among the model's entities, by name: the same for every model with the same entities.
  @exclusivity(unchecked) public internal(set) var position = 0
  /// The space of temporary identifiers, of a root entity.
  package private(set) lazy var temporarySpace = IDSpace(store: nil, root: root)

  init(_ declaration: Entity, token: UInt32) {
    name = declaration.name
    isAbstract = declaration.isAbstract
    formerNames = declaration.formerNames
    userInfo = declaration.userInfo
    objectClass = declaration.objectClass
    self.token = token
    rootEntity = self
  }

  /// Made when the model is linked.
  @exclusivity(unchecked) private(set) var checked: EntityChecks!
  /// What the slots take as it is. Never given back, as the description is not.
  @exclusivity(unchecked) private(set) var plainValues = UnsafeMutablePointer<PlainValues>.allocate(capacity: 0)
  /// The values of a fresh object, for its draft to start from.
  private(set) lazy var blankRow = Row.make(
    id: ManagedObjectID(space: root.temporarySpace, key: 0), entity: self, version: 0, values: defaultValues)

  /// Makes, before the description is shared, the values otherwise made on first use.
  func freeze() {
    _ = temporarySpace
    RowStorage.checkLayout(self)
    checked = EntityChecks(self)
    plainValues = .allocate(capacity: slotCount)
    for slot in slots.indices { (plainValues + slot).initialize(to: PlainValues(slots[slot])) }
    _ = blankRow
  }

  /// The attribute of that name.
  public func attribute(named name: String) -> AttributeDescription? {
    propertiesByName[name] as? AttributeDescription
  }

  /// The relationship of that name.
  public func relationship(named name: String) -> RelationshipDescription? {
    propertiesByName[name] as? RelationshipDescription
  }

  /// The property of that name. Throws ``ErrorCode/unknownProperty`` with the existing names.
  public func property(named name: String) throws(CoherenceError) -> PropertyDescription {
    guard let property = propertiesByName[name] else {
      let names = properties.map(\.name).joined(separator: ", ")
      throw CoherenceError(.unknownProperty, "'\(self.name)' has no property '\(name)'; it has: \(names).")
    }
    return property
  }

  /// Whether this is the other entity or inherits from it.
  public func isKind(of other: EntityDescription) -> Bool {
    var entity: EntityDescription? = self
    while let current = entity {
      if current === other { return true }
      entity = current.superentity
    }
    return false
  }

  /// The entity and all that inherit from it, ancestors before descendants.
  public var hierarchy: [EntityDescription] { [self] + subentities.flatMap(\.hierarchy) }
  /// The instantiable entities of the hierarchy below this one.
  public var concreteEntities: [EntityDescription] { hierarchy.filter { !$0.isAbstract } }
}

extension EntityDescription: Hashable {
  /// Entities are equal when their names and version hashes are.
  public static func == (left: EntityDescription, right: EntityDescription) -> Bool {
    left === right || (left.name == right.name && left.versionHash == right.versionHash)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension EntityDescription: CustomStringConvertible {
  public var description: String { name }
}

/// What a slot of a row holds.
public enum Slot: Sendable {
  case attribute(AttributeDescription)
  /// The target of a to-one relationship.
  case reference(RelationshipDescription)
  /// The place of the record in the ordered to-many relationship whose inverse is the to-one relationship given: an
  /// integer, or null.
  case position(RelationshipDescription)

  /// The representation of the slot's values; positions are `int64`.
  public var storage: StorageType {
    switch self {
    case .attribute(let attribute): attribute.type.storage
    case .reference: .reference
    case .position: .int64
    }
  }

  /// A name for the slot, unique in its entity: the property's, with a suffix for positions.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .reference(let relationship): relationship.name
    case .position(let relationship): relationship.name + ".position"
    }
  }
}
