/// A source of records for the evaluator: a store's tables, or a context's objects.
public protocol RecordSource {
  associatedtype Record
  func id(of record: Record) -> ManagedObjectID
  /// The record's own entity, never an ancestor of it.
  func entity(of record: Record) -> EntityDescription
  /// The value of a slot of the record's entity (may load the record).
  func value(_ slot: Int, of record: Record) throws -> AttributeValue
  /// The record that a to-one relationship leads to.
  func target(of relationship: RelationshipDescription, from record: Record) throws -> Record?
  /// The members of a to-many relationship.
  func members(of relationship: RelationshipDescription, from record: Record) throws -> [Record]
  /// The number of members of a to-many relationship. Without an implementation, the members are counted.
  func memberCount(of relationship: RelationshipDescription, from record: Record) throws -> Int
}

extension RecordSource {
  @inlinable
  public func memberCount(of relationship: RelationshipDescription, from record: Record) throws -> Int {
    try members(of: relationship, from: record).count
  }
}
