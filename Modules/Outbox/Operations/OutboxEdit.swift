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

  /// Whether a value differs from the value in the entry. An unchanged entry keeps its idempotency key.
  var isChanged: Bool { changes != entry.changes }

  /// The value that the entry sends for an attribute; `nil` when the entry does not have the attribute.
  public subscript(name: String) -> AttributeValue? {
    changes.first { $0.name == name }?.value?.attributeValue
  }

  /// Sets the value that the entry sends for an attribute. The record in the store keeps its value.
  ///
  /// The value is checked by the attribute's type, not by its validation rules. A required attribute needs a value. The
  /// value of an attribute that the model has no more is not checked.
  ///
  /// - Parameter value: The new value; `nil` for no value.
  /// - Throws: `ErrorCode.unknownProperty` when the entry does not have the attribute; `ErrorCode.wrongType` for a
  ///   value of another type, and for a relationship; `ErrorCode.invalidValue` for a value that stores or the type
  ///   refuse; `ErrorCode.missingValue` for `nil` and a required attribute. A call that throws changes nothing.
  public mutating func set(_ name: String, to value: (any AttributeConvertible)?) throws {
    guard let index = changes.firstIndex(where: { $0.name == name }), changes[index].value != nil else {
      throw CoherenceError(
        .unknownProperty,
        "The entry of '\(entry.entityName)' has no new value of '\(name)'; its new values are: "
          + changes.filter { $0.value != nil }.map(\.name).joined(separator: ", ") + ".")
    }
    var value = value?.attributeValue ?? .null
    switch entity?.propertiesByName[name] {
    case let attribute as AttributeDescription:
      guard !value.isNull || attribute.isOptional else {
        throw CoherenceError(
          .missingValue,
          "'\(entry.entityName).\(name)' is required and cannot be sent without a value; set one, or drop the entry.")
      }
      value = try attribute.type.checked(value)
    case is RelationshipDescription:
      throw CoherenceError(
        .wrongType,
        "'\(entry.entityName).\(name)' is a relationship; change the object instead, which adds an entry of its own.")
    default: break
    }
    changes[index].value = .value(value)
  }
}
