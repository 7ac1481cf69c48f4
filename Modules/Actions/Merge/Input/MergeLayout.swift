import CoherenceCore

/// The properties of a merge's entity, looked up once.
struct MergeLayout {
  let entity: EntityDescription
  let keys: [Field]
  let attributes: [Field]
  let relationships: [RelationshipDescription]
  /// The slots that a record that exists keeps as they are.
  let keptSlots: [Int]
  let keySlots: [Int]
  /// The places of attributes by name, where there are many.
  private let places: [String: Int]
  /// What tells most names apart at a glance, of each attribute.
  private let marks: [UInt32]
  /// The names of the properties that a record that exists keeps as they are.
  private let ignoredNames: Set<String>

  /// An attribute.
  struct Field {
    let description: AttributeDescription
    let name: String
    let slot: Int

    /// Whether a value compares with those of records as it is.
    @inline(__always) func isComparable(_ value: AttributeValue) -> Bool {
      switch (value, storage) {
      case (.string, .string), (.int, .int64), (.int, .int32), (.int, .int16), (.bool, .bool), (.date, .date),
        (.uuid, .uuid), (.data, .data), (.null, _):
        true
      default: false
      }
    }

    private let storage: StorageType

    init(_ description: AttributeDescription) {
      self.description = description
      name = description.name
      slot = description.slot
      storage = description.type.storage
    }

    /// A value as a record would hold it, so that input and records are compared in one form.
    func checked(_ value: AttributeValue) throws(CoherenceError) -> AttributeValue {
      do {
        return try description.type.checked(value)
      } catch {
        throw CoherenceError(error.code, "'\(description.entity.name).\(name)': \(error.message)")
      }
    }
  }

  init(_ entity: EntityDescription, keyAttributes: [String], ignoring ignoredAttributes: Set<String>) {
    self.entity = entity
    attributes = entity.attributes.map(Field.init)
    keys = keyAttributes.compactMap { name in entity.attribute(named: name).map(Field.init) }
    keySlots = keys.map(\.slot)
    keptSlots = ignoredAttributes.flatMap { Self.slots(of: $0, in: entity) }
    let many = attributes.count > 16
    places = many ? Dictionary(uniqueKeysWithValues: attributes.enumerated().map { ($1.name, $0) }) : [:]
    marks = attributes.map { Self.mark($0.name) }
    relationships = entity.relationships
    ignoredNames = ignoredAttributes
  }

  /// The slots of an attribute, or of a composite's parts.
  private static func slots(of name: String, in entity: EntityDescription) -> [Int] {
    if let parts = entity.composites[name] { return Array(parts) }
    return entity.attribute(named: name).map { [$0.slot] } ?? []
  }

  /// The place of an attribute. To look for a name among few is quicker than to hash it.
  @inline(__always) func index(of name: String) -> Int? {
    guard places.isEmpty else { return places[name] }
    let mark = Self.mark(name)
    for index in marks.indices where marks[index] == mark && attributes[index].name == name { return index }
    return nil
  }

  /// The length, the first and the last byte of a name.
  @inline(__always) private static func mark(_ name: String) -> UInt32 {
    let bytes = name.utf8
    guard let first = bytes.first, let last = bytes.last else { return 0 }
    return UInt32(truncatingIfNeeded: bytes.count) << 16 | UInt32(first) << 8 | UInt32(last)
  }

  func ignores(_ relationship: RelationshipDescription) -> Bool { ignoredNames.contains(relationship.name) }

  /// The attributes of the key, for messages.
  var keyNames: String { keys.map { "'\($0.name)'" }.joined(separator: ", ") }

  /// The error of a merge whose input links to records that it does not name and would delete.
  func deletedTargets(_ ids: Set<ManagedObjectID>) -> CoherenceError {
    var error = CoherenceError(
      .objectNotFound,
      "The input links to \(ids.count) record(s) of '\(entity.name)' that it does not name, so that the merge would "
        + "delete them; none was deleted. Name these records in the input, or clear the links.")
    error.objectIDs = ids.sorted { $0.key < $1.key }
    return error
  }

  func checkLink(_ link: MergeLink, of relationship: RelationshipDescription) throws(CoherenceError) {
    let fits =
      switch link {
      case .none: true
      case .one: !relationship.isToMany
      case .many: relationship.isToMany
      }
    if fits { return }
    let form = relationship.isToMany ? ".many" : ".one"
    throw CoherenceError(.wrongType, "'\(entity.name).\(relationship.name)' is to be linked by `\(form)`.")
  }
}
