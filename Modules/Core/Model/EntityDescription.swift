/// An entity of a model. Immutable, and alive as long as the process. May be used on any thread.
public final class EntityDescription: @unchecked Sendable {
  // Sendable: a model links its descriptions before they are shared; nothing changes them afterwards.
  // Safety of `@exclusivity(unchecked)`: after linking, all accesses are reads. Bulk work reads the properties for
  // every record.

  /// The name, unique in the model.
  public let name: String
  /// Whether the entity is abstract: only its subentities have objects.
  public let isAbstract: Bool
  /// The names that the entity had in earlier models, the latest first.
  public let formerNames: [String]
  /// The name that the entity had in the model before; the first of ``formerNames``.
  public var renamingIdentifier: String? { formerNames.first }
  /// The name of the entity in the texts of identifiers: the earliest of its names. A rename changes no text, because
  /// attributes, other stores and other programs keep such texts.
  var nameInIdentifiers: String { formerNames.last ?? name }
  /// Texts of the application by key; see also ``keySetting``.
  public let userInfo: [String: String]
  /// The class of the entity's objects.
  public let objectClass: ManagedObject.Type

  /// The entity from which this entity inherits; `nil` for a root.
  @exclusivity(unchecked) public internal(set) var superentity: EntityDescription?
  /// The entities that inherit directly from this entity, in order of declaration.
  @exclusivity(unchecked) public internal(set) var subentities: [EntityDescription] = []
  /// The topmost ancestor; the entity itself if it has no ancestor. The root's hierarchy shares one space of keys and
  /// one table.
  public internal(set) var root: EntityDescription {
    get { rootEntity }
    set { rootEntity = newValue }
  }
  // The root refers to itself. Such reference cycles do no harm, because descriptions are never freed.
  @exclusivity(unchecked) private var rootEntity: EntityDescription!

  /// All properties: inherited ones first, then attributes, then relationships, in order of declaration.
  @exclusivity(unchecked) public internal(set) var properties: [PropertyDescription] = []
  /// The properties by name, inherited ones and the parts of composites included.
  @exclusivity(unchecked) public internal(set) var propertiesByName: [String: PropertyDescription] = [:]
  /// The attributes, inherited ones included.
  @exclusivity(unchecked) public internal(set) var attributes: [AttributeDescription] = []
  /// The relationships, inherited ones included.
  @exclusivity(unchecked) public internal(set) var relationships: [RelationshipDescription] = []
  /// The contents of each slot of a row.
  @exclusivity(unchecked) public internal(set) var slots: [Slot] = []
  /// The number of slots of a row. A subentity's slots begin with its superentity's.
  @exclusivity(unchecked) public internal(set) var slotCount = 0
  /// The values of a new object by slot.
  @exclusivity(unchecked) public internal(set) var defaultValues: [AttributeValue] = []
  /// The slots of the parts of each composite, by name.
  @exclusivity(unchecked) public internal(set) var composites: [String: Range<Int>] = [:]

  /// The declarations of properties without stored values, inherited ones included, by name.
  @exclusivity(unchecked) var computedProperties: [String: any PropertyDeclaration] = [:]

  /// The uniqueness constraints, inherited ones included. The constraint of the entity's key, see ``keySetting``, is
  /// the last of the entity's own constraints.
  @exclusivity(unchecked) public internal(set) var uniquenessConstraints: [[PropertyDescription]] = []
  /// The constraints that the model declares as uniqueness constraints, inherited ones included.
  @exclusivity(unchecked) package internal(set) var declaredConstraints: [[PropertyDescription]] = []
  /// The constraint that only the entity's key adds; `nil` for none.
  @exclusivity(unchecked) package internal(set) var keyConstraint: [PropertyDescription]?
  /// Indexes, inherited ones included.
  @exclusivity(unchecked) public internal(set) var indexes: [[PropertyDescription]] = []
  /// A digest of everything that determines how the entity's records are stored.
  public internal(set) var versionHash = VersionHash.empty

  /// A number for this description, unique in this process and never zero. The entities of ``hierarchy`` have
  /// consecutive numbers.
  @exclusivity(unchecked) @usableFromInline var token: UInt32 = 0
  /// The number of entities of ``hierarchy``.
  @exclusivity(unchecked) var hierarchyCount = 1
  /// The position among the model's entities, by name: the same for every model with the same entities.
  @exclusivity(unchecked) public internal(set) var position = 0
  /// The space of temporary identifiers. Used for root entities only.
  package private(set) lazy var temporarySpace = IDSpace(store: nil, root: root)

  init(_ declaration: Entity) {
    name = declaration.name
    isAbstract = declaration.isAbstract
    formerNames = declaration.formerNames
    userInfo = declaration.userInfo
    objectClass = declaration.objectClass
    rootEntity = self
  }

  /// The properties to check at changes and saves. Made when the model is linked.
  @exclusivity(unchecked) private(set) var checked: EntityChecks!
  /// The values that each slot accepts without a conversion. Never freed, because descriptions never are.
  @exclusivity(unchecked) private(set) var plainValues = UnsafeMutablePointer<PlainValues>.allocate(capacity: 0)
  /// An identifier in the space of temporary identifiers of the hierarchy; no record has it.
  @exclusivity(unchecked) private(set) var blankID: ManagedObjectID!
  /// A row with the default values, from which the draft of a new object is copied.
  var blankRow: Row { defaultRow }
  @exclusivity(unchecked) private var defaultRow: Row!

  /// Makes the lazy values before the description is shared.
  func freeze() {
    _ = temporarySpace
    blankID = ManagedObjectID(space: root.temporarySpace, key: 0)
    RowStorage.checkLayout(self)
    checked = EntityChecks(self)
    plainValues = .allocate(capacity: slotCount)
    for slot in slots.indices { (plainValues + slot).initialize(to: PlainValues(slots[slot])) }
    defaultRow = Row.make(id: blankID, entity: self, version: 0, values: defaultValues)
  }

  /// The attribute with a name; `nil` for an unknown name. Parts of composites have names such as `size.width`.
  public func attribute(named name: String) -> AttributeDescription? {
    propertiesByName[name] as? AttributeDescription
  }

  /// The relationship with a name; `nil` for an unknown name.
  public func relationship(named name: String) -> RelationshipDescription? {
    propertiesByName[name] as? RelationshipDescription
  }

  /// The property with a name.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, listing the existing names.
  public func property(named name: String) throws(CoherenceError) -> PropertyDescription {
    guard let property = propertiesByName[name] else {
      let names = properties.map(\.name).joined(separator: ", ")
      throw CoherenceError(.unknownProperty, "'\(self.name)' has no property '\(name)'; it has: \(names).")
    }
    return property
  }

  /// Whether this entity is another entity, or inherits from the other entity.
  public func isKind(of other: EntityDescription) -> Bool {
    var entity: EntityDescription? = self
    while let current = entity {
      if current === other { return true }
      entity = current.superentity
    }
    return false
  }

  /// The entity and all its descendants, ancestors before descendants.
  public var hierarchy: [EntityDescription] {
    var entities: [EntityDescription] = []
    appendHierarchy(to: &entities)
    return entities
  }

  /// Appends the entity and its descendants to one array. Arrays of each level would be copied once for each ancestor.
  private func appendHierarchy(to entities: inout [EntityDescription]) {
    entities.append(self)
    for subentity in subentities { subentity.appendHierarchy(to: &entities) }
  }

  /// The entities of ``hierarchy`` without the abstract ones.
  public var concreteEntities: [EntityDescription] { hierarchy.filter { !$0.isAbstract } }
}

extension EntityDescription: Hashable {
  /// Entities are equal when their names and version hashes are equal.
  public static func == (left: EntityDescription, right: EntityDescription) -> Bool {
    left === right || (left.name == right.name && left.versionHash == right.versionHash)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension EntityDescription: CustomStringConvertible {
  /// The name of the entity.
  public var description: String { name }
}

/// The contents of a slot of a row.
public enum Slot: Sendable {
  /// The value of an attribute.
  case attribute(AttributeDescription)
  /// The target of a to-one relationship.
  case reference(RelationshipDescription)
  /// The position of the record in the ordered to-many relationship whose inverse is the given to-one relationship: an
  /// integer, or null.
  case position(RelationshipDescription)

  /// The representation of the slot's values in stores; a position is an `int64`.
  public var storage: StorageType {
    switch self {
    case .attribute(let attribute): attribute.type.storage
    case .reference: .reference
    case .position: .int64
    }
  }

  /// The name of the slot, unique in its entity: the property's name, with a suffix for positions.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .reference(let relationship): relationship.name
    case .position(let relationship): relationship.name + ".position"
    }
  }
}
