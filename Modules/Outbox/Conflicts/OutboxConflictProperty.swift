public import CoherenceCore

/// A property of a record in conflict, with the value of each side.
public struct OutboxConflictProperty: Sendable, Hashable {
  /// The name of an attribute, of a part of a composite, or of a to-one relationship.
  public let name: String
  /// The value on which the edit is based; `nil` if the value is not known, as for a record that both sides inserted.
  public let base: AttributeValue?
  /// The present value of the local record; `nil` if the user has deleted the record.
  public let local: AttributeValue?
  /// The server's value; `nil` if the server did not report the property.
  public let server: AttributeValue?
}
