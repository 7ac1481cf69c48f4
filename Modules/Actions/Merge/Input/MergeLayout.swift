import CoherenceCore

/// The properties of a merge's entity, looked up once.
struct MergeLayout {
  let entity: EntityDescription
  let keys: [Field]
  let attributes: [Field]
  let relationships: [RelationshipDescription]
  /// The slots that a record that exists keeps as they are.
  let ignored: SlotSet
  /// The names of the properties that a record that exists keeps as they are.
  private let ignoredNames: Set<String>

  /// An attribute.
  struct Field {
    let description: AttributeDescription
    let name: String
    let slot: Int
    let isIgnored: Bool

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
    let fields = entity.attributes.map { attribute in
      Field(
        description: attribute, name: attribute.name, slot: attribute.slot,
        isIgnored: ignoredAttributes.contains(attribute.name))
    }
    attributes = fields
    keys = keyAttributes.compactMap { name in fields.first { $0.name == name } }
    relationships = entity.relationships
    ignoredNames = ignoredAttributes
    ignored = SlotSet(fields.filter(\.isIgnored).map(\.slot))
  }

  func ignores(_ relationship: RelationshipDescription) -> Bool { ignoredNames.contains(relationship.name) }

  var keySlots: [Int] { keys.map(\.slot) }

  /// The attributes of the key, for messages.
  var keyNames: String { keys.map { "'\($0.name)'" }.joined(separator: ", ") }

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
