public import CoherenceCore

/// The values that an entry sends, which a block of ``Outbox/edit(_:_:)`` changes.
public struct OutboxEdit: Sendable {
  /// The entry, with its large values.
  public let entry: OutboxEntry
  private let entity: EntityDescription?
  private(set) var changes: [OutboxChange]

  init(_ entry: OutboxEntry, entity: EntityDescription?) {
    self.entry = entry
    self.entity = entity
    changes = entry.changes
  }

  /// Whether a value was set.
  var isChanged: Bool { changes != entry.changes }

  /// The value that the entry sends for an attribute; `nil` when the entry does not have the attribute.
  public subscript(name: String) -> AttributeValue? {
    changes.first { $0.name == name }?.value?.attributeValue
  }

  /// Sets the value that the entry sends for an attribute. The record in the store keeps its value.
  ///
  /// - Parameter value: The new value; `nil` for no value.
  /// - Throws: `ErrorCode.unknownProperty` when the entry does not have the attribute, and `ErrorCode.wrongType` and
  ///   `ErrorCode.invalidValue` for a value that the attribute does not take. A call that throws changes nothing.
  public mutating func set(_ name: String, to value: (any AttributeConvertible)?) throws {
    guard let index = changes.firstIndex(where: { $0.name == name }), changes[index].value != nil else {
      throw CoherenceError(
        .unknownProperty,
        "The entry of '\(entry.entityName)' has no new value of '\(name)'; its new values are: "
          + changes.filter { $0.value != nil }.map(\.name).joined(separator: ", ") + ".")
    }
    var value = value?.attributeValue ?? .null
    switch entity?.propertiesByName[name] {
    case let attribute as AttributeDescription: value = try attribute.type.checked(value)
    case is RelationshipDescription:
      throw CoherenceError(
        .wrongType,
        "'\(entry.entityName).\(name)' is a relationship; change the object instead, which adds an entry of its own.")
    default: break
    }
    changes[index].value = .value(value)
  }
}
