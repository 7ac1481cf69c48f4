/// The saved records, for the evaluation of predicates. The context uses it for the part of a predicate or an order
/// that a store cannot evaluate, so that the part has the same meaning as in the store, without unsaved changes.
///
/// Made for one fetch, in which each related record is read once.
final class StoredRecords: PreloadingSource, AggregateRetaining {
  private let context: ManagedObjectContext
  /// The rows of related records; `nil` for missing records.
  private var rows: [ManagedObjectID: Row?] = [:]
  /// The members of owners.
  private var members: [MembersKey: [RecordState]] = [:]
  /// The numbers of members of owners.
  private var memberCounts: [MembersKey: Int] = [:]
  let computedAggregates = ComputedAggregates()

  init(context: ManagedObjectContext) { self.context = context }

  func id(of record: RecordState) -> ManagedObjectID { record.id }
  func entity(of record: RecordState) -> EntityDescription { record.entity }
  func value(_ slot: Int, of record: RecordState) throws -> AttributeValue { record[slot] }

  func target(of relationship: RelationshipDescription, from record: RecordState) throws -> RecordState? {
    guard let slot = relationship.slot, case .reference(let id) = record[slot] else { return nil }
    if let row = rows[id] { return row.map(RecordState.init) }
    let row = try context.committedRow(id)
    rows[id] = .some(row)
    return row.map { RecordState($0) }
  }

  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws {
    var current = Array(records)
    for relationship in path {
      let targets = current.targets(of: relationship)
      let unknown = targets.filter { rows[$0] == nil }
      for id in unknown { rows[id] = .some(nil) }
      for row in try context.committedRows(unknown) { rows[row.id] = row }
      current = targets.compactMap { rows[$0].flatMap { $0 } }.map { RecordState($0) }
    }
  }

  func preload(members relationship: RelationshipDescription, of owners: [RecordState]) throws {
    let unknown = owners.map(\.id).filter { members[MembersKey(relationship: relationship, owner: $0)] == nil }
    // The members of a single owner are read when the evaluation needs them.
    guard unknown.count > 1 else { return }
    let ids = try context.committedMembers(of: relationship, owners: unknown) { read in
      for row in read { rows[row.id] = row }
    }
    for row in try context.committedRows(Set(ids.values.joined()).filter { rows[$0] == nil }.map(\.self)) {
      rows[row.id] = row
    }
    for owner in unknown {
      members[MembersKey(relationship: relationship, owner: owner)] =
        (ids[owner] ?? []).compactMap { rows[$0].flatMap { $0 } }.map { RecordState($0) }
    }
  }

  func preload(memberCounts relationship: RelationshipDescription, of owners: [RecordState]) throws {
    let unknown = owners.map(\.id).filter { memberCounts[MembersKey(relationship: relationship, owner: $0)] == nil }
    guard unknown.count > 1 else { return }
    let ids = try context.committedMembers(of: relationship, owners: unknown) { read in
      for row in read { rows[row.id] = row }
    }
    for owner in unknown {
      memberCounts[MembersKey(relationship: relationship, owner: owner)] = ids[owner]?.count ?? 0
    }
  }

  func members(of relationship: RelationshipDescription, from record: RecordState) throws -> [RecordState] {
    let key = MembersKey(relationship: relationship, owner: record.id)
    if let result = members[key] { return result }
    let ids = try memberIDs(of: relationship, from: record)
    for row in try context.committedRows(ids.filter { rows[$0] == nil }) { rows[row.id] = row }
    let result = ids.compactMap { rows[$0].flatMap { $0 } }.map { RecordState($0) }
    members[key] = result
    return result
  }

  func memberCount(of relationship: RelationshipDescription, from record: RecordState) throws -> Int {
    let key = MembersKey(relationship: relationship, owner: record.id)
    if let count = memberCounts[key] { return count }
    let count = try memberIDs(of: relationship, from: record).count
    memberCounts[key] = count
    return count
  }

  /// Reads the members of an owner.
  private func memberIDs(
    of relationship: RelationshipDescription, from record: RecordState
  ) throws -> [ManagedObjectID] {
    let members = try context.committedMembers(of: relationship, owners: [record.id]) { read in
      for row in read { rows[row.id] = row }
    }
    return members[record.id] ?? []
  }
}
