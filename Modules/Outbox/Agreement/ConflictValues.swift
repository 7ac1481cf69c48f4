import CoherenceCore

/// The values of a conflict, by the names and in the types that the present model has. A migration changes neither the
/// names nor the values in a stored conflict.
struct ConflictValues {
  /// The values of one property; `nil` for an unknown value.
  struct Property {
    let name: String
    let base: AttributeValue?
    let server: AttributeValue?
  }

  /// The names of the properties in conflict.
  let names: Set<String>
  /// All properties with values in the conflict.
  let properties: [Property]

  /// Reads the values of a conflict. Called inside of the context.
  ///
  /// - Parameters:
  ///   - entity: The entity of the record; `nil` if the model does not have it.
  ///   - store: The store of the record. The values in a detached store are unknown.
  /// - Throws: ``ErrorCode/storeCorrupt``.
  init(of conflict: OutboxConflictRecord, _ entity: EntityDescription?, in store: (any PersistentStore)?) throws {
    let recorded = conflict.names.split(separator: "\n").map(String.init)
    names = Set(recorded.map { entity?.property(recordedAs: $0)?.name ?? $0 })
    var properties: [Property] = []
    for field in try EntryReader.payload(conflict.payload).0 {
      let property = entity?.property(recordedAs: field.name)
      func present(_ value: OutboxValue?) -> AttributeValue? {
        guard let store, let value = value?.attributeValue(in: store) else { return nil }
        return (property as? AttributeDescription)?.converted(value) ?? value
      }
      properties.append(
        Property(name: property?.name ?? field.name, base: present(field.base), server: present(field.value)))
    }
    self.properties = properties
  }
}
