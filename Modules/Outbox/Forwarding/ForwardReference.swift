public import CoherenceCore

/// A record that an edit refers to.
public struct ForwardReference: Sendable, Hashable {
  /// The record, in the store of the entry.
  public let record: OutboxRecord
  /// The name of the record's entity.
  public let entityName: String
  /// The values of the identifying attributes by which the server knows the record, by name; empty for a locally
  /// deleted record whose entries are gone.
  public let keys: [String: AttributeValue]

  /// The value of an identifying attribute.
  public subscript(name: String) -> AttributeValue? { keys[name] }
}

/// The changed members of a to-many relationship.
public struct ForwardMembers: Sendable, Hashable {
  /// The records that became members.
  public var added: [ForwardReference]
  /// The records that stopped being members.
  public var removed: [ForwardReference]
}
