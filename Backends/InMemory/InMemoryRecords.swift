import CoherenceCore

/// The records of a state during one execution of a query. An aggregate of the members of a target that many records
/// have in common is computed once.
struct InMemoryRecords: AggregateRetaining {
  private let state: InMemoryState
  let computedAggregates = ComputedAggregates()

  init(_ state: InMemoryState) { self.state = state }

  func id(of record: Row) -> ManagedObjectID { state.id(of: record) }
  func entity(of record: Row) -> EntityDescription { state.entity(of: record) }
  func value(_ slot: Int, of record: Row) -> AttributeValue { state.value(slot, of: record) }
  func target(of relationship: RelationshipDescription, from record: Row) -> Row? {
    state.target(of: relationship, from: record)
  }
  func members(of relationship: RelationshipDescription, from record: Row) -> [Row] {
    state.members(of: relationship, from: record)
  }
  func memberCount(of relationship: RelationshipDescription, from record: Row) -> Int {
    state.memberCount(of: relationship, from: record)
  }
}
