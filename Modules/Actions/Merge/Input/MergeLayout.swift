import CoherenceCore
import CoherenceReconciliation

/// The properties of a merge's entity, looked up once for all records.
struct MergeLayout {
  let entity: EntityDescription
  /// The attributes of the key, in the order of the key's values.
  let keys: [Field]
  /// All attributes of the entity, including the key.
  let attributes: [Field]
  let relationships: [RelationshipDescription]
  /// The slots of ignored attributes, which existing records keep.
  let ignoredSlots: [Int]
  let keySlots: [Int]
  /// The indexes of attributes by name; empty for an entity with few attributes.
  private let indexesByName: [String: Int]
  /// A fingerprint of each attribute's name. Different fingerprints spare the comparison of texts.
  private let fingerprints: [UInt32]
  /// The names of the ignored properties.
  private let ignoredNames: Set<String>

  /// An attribute.
  struct Field {
    let description: AttributeDescription
    let name: String
    let slot: Int
    /// Whether saves compute the value, which no input can set.
    let isDerived: Bool

    /// Whether a value compares with stored values without a conversion.
    @inline(__always) func isComparable(_ value: AttributeValue) -> Bool {
      switch (value, storage) {
      // The text of a URL may have another form in the store.
      case (.string, .string): !isURL
      case (.int, .int64), (.int, .int32), (.int, .int16), (.bool, .bool), (.date, .date),
        (.uuid, .uuid), (.data, .data), (.null, _):
        true
      default: false
      }
    }

    private let storage: StorageType
    private let isURL: Bool

    init(_ description: AttributeDescription) {
      self.description = description
      name = description.name
      slot = description.slot
      isDerived = description.derivation != nil
      storage = description.type.storage
      isURL = description.type.storesURLs
    }

    /// Returns a value in the form in which rows hold it, so that input and rows are compared in one form.
    ///
    /// - Parameter record: The index of the input record, for the message of an error.
    func checked(_ value: AttributeValue, of record: Int) throws(CoherenceError) -> AttributeValue {
      do {
        return try description.type.checked(value)
      } catch {
        throw CoherenceError(
          error.code, "'\(description.entity.name).\(name)' of input record \(record): \(error.message)")
      }
    }
  }

  init(_ entity: EntityDescription, keyAttributes: [String], ignoring ignoredAttributes: Set<String>) {
    self.entity = entity
    attributes = entity.attributes.map(Field.init)
    keys = keyAttributes.compactMap { name in entity.attribute(named: name).map(Field.init) }
    keySlots = keys.map(\.slot)
    ignoredSlots = ignoredAttributes.flatMap { Self.slots(of: $0, in: entity) }
    let isWide = attributes.count > 16
    indexesByName = isWide ? Dictionary(uniqueKeysWithValues: attributes.enumerated().map { ($1.name, $0) }) : [:]
    fingerprints = attributes.map { Self.fingerprint($0.name) }
    relationships = entity.relationships
    ignoredNames = ignoredAttributes
  }

  /// The slots of an attribute, or of a composite's parts.
  private static func slots(of name: String, in entity: EntityDescription) -> [Int] {
    if let parts = entity.composites[name] { return Array(parts) }
    return entity.attribute(named: name).map { [$0.slot] } ?? []
  }

  /// The index of an attribute. A search among few names is faster than hashing the name. Names are equal by Unicode's
  /// canonical equivalence, as everywhere, so that equal names beyond ASCII may have different fingerprints.
  @inline(__always) func index(of name: String) -> Int? {
    guard indexesByName.isEmpty else { return indexesByName[name] }
    let fingerprint = Self.fingerprint(name)
    for index in fingerprints.indices where fingerprints[index] == fingerprint && attributes[index].name == name {
      return index
    }
    return name.utf8.allSatisfy { $0 < 0x80 } ? nil : attributes.firstIndex { $0.name == name }
  }

  /// The length, the first and the last byte of a name.
  @inline(__always) private static func fingerprint(_ name: String) -> UInt32 {
    let bytes = name.utf8
    guard let first = bytes.first, let last = bytes.last else { return 0 }
    return UInt32(truncatingIfNeeded: bytes.count) << 16 | UInt32(first) << 8 | UInt32(last)
  }

  func ignores(_ relationship: RelationshipDescription) -> Bool { ignoredNames.contains(relationship.name) }

  /// The relationships that lead to records of the merge's own hierarchy.
  var ownRelationships: [RelationshipDescription] { relationships.filter { $0.destination.root === entity.root } }

  /// The stored rows of the merge's entity, by the merge's key.
  func storedRows(in context: ActionContext) -> StoredRows {
    context.storedRows(of: entity, by: keys.map(\.description))
  }

  // MARK: Errors

  /// The names of the key's attributes, for error messages.
  var keyNames: String { keys.map { "'\($0.name)'" }.joined(separator: ", ") }

  /// The error of a merge that would delete records that its own input links to.
  func deletedTargetsError(_ ids: Set<ManagedObjectID>) -> CoherenceError {
    var error = CoherenceError(
      .objectNotFound,
      "The merge would delete \(ids.count) record(s) of '\(entity.name)' that the input links to but does not contain; "
        + "no record was deleted. Add these records to the input, or clear the links.")
    error.objectIDs = ids.sorted { $0.key < $1.key }
    return error
  }

  /// - Throws: ``ErrorCode/wrongType`` for a to-one link of a to-many relationship, and the other way round.
  func checkLink(_ link: MergeLink, of relationship: RelationshipDescription) throws(CoherenceError) {
    let fits =
      switch link {
      case .none: true
      case .one: !relationship.isToMany
      case .many: relationship.isToMany
      }
    if fits { return }
    let (kind, form) = relationship.isToMany ? ("to-many", ".many") : ("to-one", ".one")
    throw CoherenceError(
      .wrongType, "'\(entity.name).\(relationship.name)' is a \(kind) relationship; link it by `\(form)`.")
  }
}

extension ActionContext {
  /// The stored rows of an entity, read for a merge in this context: a cancelled action stops the reading.
  func storedRows(of entity: EntityDescription, by keyAttributes: [AttributeDescription]) -> StoredRows {
    StoredRows(entity, keyAttributes: keyAttributes, in: self, checkCancellation: refuseIfCanceled)
  }
}
