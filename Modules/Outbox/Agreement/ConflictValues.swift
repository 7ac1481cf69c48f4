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
  /// All properties with values in the conflict. If the values cannot be read, the properties in conflict without
  /// values.
  let properties: [Property]
  /// Whether the stored values can be read: they are neither damaged nor of a later release.
  let isReadable: Bool

  /// Reads the values of a conflict. Called inside of the context.
  ///
  /// - Parameters:
  ///   - entity: The entity of the record; `nil` if the model does not have it.
  ///   - store: The store of the record. The values in a detached store are unknown.
  init(of conflict: OutboxConflictRecord, _ entity: EntityDescription?, in store: (any PersistentStore)?) {
    let recorded = OutboxConflictRecord.names(inText: conflict.names)
    names = Set(recorded.map { entity?.property(recordedAs: $0)?.name ?? $0 })
    guard let fields = try? EntryReader.payload(conflict.payload).0 else {
      self.properties = names.sorted().map { Property(name: $0, base: nil, server: nil) }
      isReadable = false
      return
    }
    var properties: [Property] = []
    for field in fields {
      let property = entity?.property(recordedAs: field.name)
      func present(_ value: OutboxValue?) -> AttributeValue? {
        guard let store, let value = value?.attributeValue(in: store) else { return nil }
        return (property as? AttributeDescription)?.converted(value) ?? value
      }
      properties.append(
        Property(name: property?.name ?? field.name, base: present(field.base), server: present(field.value)))
    }
    self.properties = properties
    isReadable = true
  }
}
