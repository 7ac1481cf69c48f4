/// The saved records, for the evaluation of predicates and orders. The context uses them for the part of a request that
/// a store cannot evaluate, so that the part has the same meaning as in the store, without unsaved changes.
///
/// Made for one read of the stores, such as a fetch, a batch of a stream, or an update of a live result: it reads each
/// related record once, and retains the rows until its release.
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
      note(try context.committedRows(unknown))
      current = states(of: targets)
    }
  }

  func preload(members relationship: RelationshipDescription, of owners: [RecordState]) throws {
    let unknown = owners.map(\.id).filter { members[MembersKey(relationship: relationship, owner: $0)] == nil }
    // The members of a single owner are read when the evaluation needs them.
    guard unknown.count > 1 else { return }
    let ids = try memberIDs(of: relationship, owners: unknown)
    note(try context.committedRows(Array(Set(ids.values.joined()).filter { rows[$0] == nil })))
    for owner in unknown {
      members[MembersKey(relationship: relationship, owner: owner)] = states(of: ids[owner] ?? [])
    }
  }

  func preload(memberCounts relationship: RelationshipDescription, of owners: [RecordState]) throws {
    let unknown = owners.map(\.id).filter { memberCounts[MembersKey(relationship: relationship, owner: $0)] == nil }
    // As above: the members of a single owner are counted when the evaluation needs their number.
    guard unknown.count > 1 else { return }
    let ids = try memberIDs(of: relationship, owners: unknown)
    for owner in unknown {
      memberCounts[MembersKey(relationship: relationship, owner: owner)] = ids[owner]?.count ?? 0
    }
  }

  func members(of relationship: RelationshipDescription, from record: RecordState) throws -> [RecordState] {
    let key = MembersKey(relationship: relationship, owner: record.id)
    if let result = members[key] { return result }
    let ids = try memberIDs(of: relationship, owners: [record.id])[record.id] ?? []
    note(try context.committedRows(ids.filter { rows[$0] == nil }))
    let result = states(of: ids)
    members[key] = result
    return result
  }

  func memberCount(of relationship: RelationshipDescription, from record: RecordState) throws -> Int {
    let key = MembersKey(relationship: relationship, owner: record.id)
    if let count = memberCounts[key] { return count }
    let count = try memberIDs(of: relationship, owners: [record.id])[record.id]?.count ?? 0
    memberCounts[key] = count
    return count
  }

  /// Reads the members of owners. Keeps the rows of members, if the read returns rows.
  private func memberIDs(
    of relationship: RelationshipDescription, owners: [ManagedObjectID]
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    try context.committedMembers(of: relationship, owners: owners, note: note)
  }

  private func note(_ read: [Row]) { for row in read { rows[row.id] = row } }

  /// The records among identifiers whose rows were read, without missing records.
  private func states(of ids: some Sequence<ManagedObjectID>) -> [RecordState] {
    ids.compactMap { rows[$0].flatMap { $0 } }.map { RecordState($0) }
  }
}
