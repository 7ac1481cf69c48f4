public import CoherenceCore

/// A property that both sides changed.
public struct OutboxConflictProperty: Sendable, Hashable {
  /// The name of an attribute, of a part of a composite, or of a to-one relationship.
  public let name: String
  /// The value on which the edit is based; `nil` if it is not known, as for a record that both sides inserted.
  public let base: AttributeValue?
  /// The present value here; `nil` for a record that was deleted here.
  public let local: AttributeValue?
  /// The server's value; `nil` if it is not known.
  public let server: AttributeValue?
}
