public import CoherenceCore

/// One value of an entry, in the present type of the property. A value that cannot be converted to that type has the
/// type that the property had when the change was recorded.
public enum OutboxValue: Sendable, Hashable {
  /// The value of an attribute, or null for a to-one relationship without a target. Never a reference.
  case value(AttributeValue)
  /// The target of a to-one relationship.
  case record(OutboxRecord)
  /// A value of more than 32 KB (32,768 bytes) that this copy of the entry lacks, with the number of its bytes.
  ///
  /// Lists leave large values out; ``Outbox/entry(_:)`` reads them. The outbox never keeps the large values of a
  /// deleted record.
  case omitted(byteCount: Int)

  /// The value of an attribute; `nil` for a target and an omitted value.
  public var attributeValue: AttributeValue? {
    if case .value(let value) = self { return value }
    return nil
  }

  /// The target of a to-one relationship; `nil` for any other value.
  public var record: OutboxRecord? {
    if case .record(let record) = self { return record }
    return nil
  }
}
