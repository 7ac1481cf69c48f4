/// The records of a context with the unsaved changes of the context and its parents, for the evaluation of predicates.
///
/// Made for one fetch, in which each related record is read once.
struct ContextRecords: PreloadingSource, AggregateRetaining {
  /// The rows of related records without a loaded object; `nil` for missing records. A class, so that all copies of the
  /// source share the rows.
  private final class Rows {
    var byID: [ManagedObjectID: Row?] = [:]
    /// The numbers of members of owners.
    var memberCounts: [MembersKey: Int] = [:]
    /// The owners whose members were read together. The objects have the lists.
    var owners: [ManagedObject] = []
    /// Made on first use, because most sources compute no aggregate.
    lazy var computedAggregates = ComputedAggregates()
  }

  let context: ManagedObjectContext
  private let rows = Rows()
  var computedAggregates: ComputedAggregates { rows.computedAggregates }

  init(context: ManagedObjectContext) { self.context = context }

  func target(of relationship: RelationshipDescription, from record: RecordState) throws -> RecordState? {
    guard let slot = relationship.slot, case .reference(let id) = record[slot] else { return nil }
    return try state(of: id)
  }

  func members(of relationship: RelationshipDescription, from record: RecordState) throws -> [RecordState] {
    let ids = try memberIDs(of: relationship, from: record)
    try load(ids)
    return try ids.compactMap(state(of:))
  }

  func memberCount(of relationship: RelationshipDescription, from record: RecordState) throws -> Int {
    let key = MembersKey(relationship: relationship, owner: record.id)
    if let count = rows.memberCounts[key] { return count }
    let count = try members(of: relationship, from: record).count
    rows.memberCounts[key] = count
    return count
  }

  /// The members of an owner; none for an unsaved record that a parent has discarded since the evaluation began.
  private func memberIDs(
    of relationship: RelationshipDescription, from record: RecordState
  ) throws -> [ManagedObjectID] {
    do {
      return try owner(record).memberIDs(of: relationship)
    } catch let error as CoherenceError where error.code == .objectNotFound && record.id.isTemporaryID {
      return []
    }
  }

  /// The object of an owner, with its row.
  private func owner(_ record: RecordState) throws -> ManagedObject {
    let owner = try context.fault(for: record.id, of: record.entity)
    // An ordered list needs its owner's row and would read it again.
    if case .row(let row) = record.values, owner.isFault { owner.fill(with: row) }
    return owner
  }

  /// Reads the unknown rows of records together.
  private func load(_ ids: [ManagedObjectID]) throws {
    let unknown = ids.filter { id in
      rows.byID[id] == nil && context.storage.record(for: id) == nil
        && context.storage.registry.object(for: id)?.row == nil
    }
    guard !unknown.isEmpty else { return }
    // A record that the read does not find stays missing.
    for id in unknown { rows.byID[id] = .some(nil) }
    for row in try context.loadRows(unknown) { rows.byID[row.id] = row }
  }

  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws {
    var current = Array(records)
    for relationship in path {
      let targets = current.targets(of: relationship)
      try load(targets)
      current = try targets.compactMap(state(of:))
    }
  }

  func preload(members relationship: RelationshipDescription, of owners: [RecordState]) throws {
    // An unsaved owner has no members in a store.
    let objects = try owners.filter { !$0.id.isTemporaryID }.map { try owner($0) }
      .filter { $0.loadedList(of: relationship) == nil }
    // The members of a single owner are read when the evaluation needs them.
    guard objects.count > 1 else { return }
    // The versions and the generation are read before the lists: a save during the read then outdates the lists.
    let (versions, generation) = (objects.map(\.rowVersion), context.storage.generation(of: relationship))
    var read: [ManagedObjectID: Row] = [:]
    let lists = try context.storedMembers(of: relationship, owners: objects.map(\.recordID), rows: &read)
    rows.byID.merge(read.mapValues { .some($0) }) { known, _ in known }
    for (object, version) in zip(objects, versions) {
      object.setMemberList(lists[object.recordID] ?? [], of: relationship, version: version, generation: generation)
    }
    rows.owners += objects
    try load(Array(Set(lists.values.joined())))
  }

  func preload(memberCounts relationship: RelationshipDescription, of owners: [RecordState]) throws {
    try preload(members: relationship, of: owners)
  }

  /// The state of a record; `nil` when it is deleted or missing.
  func state(of id: ManagedObjectID) throws -> RecordState? {
    if let record = context.storage.record(for: id) { return record.kind == .deleted ? nil : RecordState(record) }
    if let row = context.storage.registry.object(for: id)?.row { return RecordState(row) }
    if let row = rows.byID[id] { return row.map { RecordState($0) } }
    let row = try context.loadRow(id)
    rows.byID[id] = .some(row)
    return row.map { RecordState($0) }
  }
}
