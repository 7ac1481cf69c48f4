/// A source of records for the evaluator: a store's tables, or a context's objects.
///
/// A store with its records in memory conforms to the protocol, and evaluates predicates and orders exactly as Core
/// does. The evaluator calls a source on the thread of the evaluation, and only for the properties in the condition. An
/// error ends the evaluation, which throws the error.
///
/// For a property of a subentity, the evaluator calls the source only with records of the subentity. For all other
/// records the value counts as missing.
public protocol RecordSource {
  /// The source's own form of a record, such as a row or a key.
  associatedtype Record
  /// The identifier of a record, for comparisons with identifiers and `SELF`.
  func id(of record: Record) -> ManagedObjectID
  /// The record's own entity, never an ancestor of it.
  func entity(of record: Record) -> EntityDescription
  /// The value of a slot of the record's entity (may load the record).
  func value(_ slot: Int, of record: Record) throws -> AttributeValue
  /// The target of a to-one relationship; `nil` without a target, and for a deleted target.
  func target(of relationship: RelationshipDescription, from record: Record) throws -> Record?
  /// The members of a to-many relationship, without deleted records.
  func members(of relationship: RelationshipDescription, from record: Record) throws -> [Record]
  /// The number of members of a to-many relationship. The default implementation reads and counts the members.
  func memberCount(of relationship: RelationshipDescription, from record: Record) throws -> Int
}

extension RecordSource {
  /// The number of members, counted after reading all of them. A source with a cheaper count implements the method
  /// itself.
  @inlinable
  public func memberCount(of relationship: RelationshipDescription, from record: Record) throws -> Int {
    try members(of: relationship, from: record).count
  }
}
