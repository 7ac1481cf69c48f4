import TestRandom
import Testing

@testable import CoherenceCore

/// The changes of a save as values: their groups, their resolved rows, and the identifiers that they get.
@Suite struct RecordChangeTests {
  private let model: PlaylistModel
  private let staff: StaffModel

  init() throws {
    model = try PlaylistModel()
    staff = try StaffModel()
  }

  private func track(_ version: Int64 = 1, _ values: [Int: AttributeValue] = [:]) -> Row {
    model.row(model.track, version: version, values)
  }

  /// Runs a block with the change of a record, which the record must outlive.
  private func withChange<T>(_ record: PendingRecord, _ body: (RecordChange) throws -> T) rethrows -> T {
    try withExtendedLifetime(record) { try body(RecordChange(record)) }
  }

  // MARK: Rows

  @Test func `a position equal to the base's is no change`() {
    let base = track(3, [model.owner: model.reference(1), model.position: .int(7)])
    withChange(model.change(of: base)) { change in
      let moved = change.moved(to: 9, slot: model.position)
      #expect(moved.changed == SlotSet([model.position]))
      #expect(moved.row?[model.position] == .int(9))
      #expect(moved.row?.version == 4)
      #expect(moved.isWritten && moved.changesPositionsOnly)
      let restored = moved.moved(to: 7, slot: model.position)
      #expect(restored.changed.isEmpty)
      #expect(!restored.isWritten && !restored.changesPositionsOnly)
      #expect(change.moved(to: nil, slot: model.position).row?[model.position] == .null)
    }
  }

  @Test func `a redirected reference is a change unless it is the stored one`() {
    let targets = Redirection([model.id(model.playlist, 1): model.id(model.playlist, 2)], in: model.whole)
    let record = model.change(
      of: track(1, [model.owner: model.reference(2)]), setting: [model.owner: model.reference(1)])
    record.seal(as: record.id, version: 2)
    withChange(record) { change in
      let redirected = change.redirected(targets)
      #expect(redirected.changed.isEmpty)
      #expect(!redirected.isWritten)
      #expect(change.redirected(Redirection([:], in: model.whole)).isWritten)
    }
    let other = model.change(
      of: track(1, [model.owner: model.reference(1)]), setting: [model.title: .string("A")])
    other.seal(as: other.id, version: 2)
    withChange(other) { change in
      let redirected = change.redirected(targets)
      #expect(redirected.changed == SlotSet([model.title, model.owner]))
      #expect(redirected.row?[model.owner] == model.reference(2))
      #expect(redirected.row?.version == 2)
    }
    let fresh = PendingRecord(inserting: model.id(model.track, 1), track(1, [model.owner: model.reference(1)]))
    withChange(fresh) { change in
      #expect(change.redirected(targets).row?[model.owner] == model.reference(2))
      #expect(change.redirected(targets).isWritten)
    }
    withChange(PendingRecord(deleting: track(1, [model.owner: model.reference(1)]))) { change in
      #expect(change.redirected(targets).row?[model.owner] == model.reference(1))
    }
  }

  @Test func `a base with the greatest version has no next version`() throws {
    try RecordChange.checkVersion(of: nil)
    try RecordChange.checkVersion(of: track(.max - 1))
    let error = #expect(throws: CoherenceError.self) { try RecordChange.checkVersion(of: track(.max)) }
    #expect(error?.code == .storeCorrupt)
    #expect(error?.objectIDs == [model.id(model.track, 1)])
    #expect(RecordChange.version(after: nil) == 1)
    #expect(RecordChange.version(after: track(4)) == 5)
  }

  @Test func `a restored record gets a version far behind the versions that contexts may know`() {
    #expect(RecordChange.version(restoring: track(4)) == 4 + 1 << 16)
    #expect(RecordChange.version(restoring: track(.max - 5)) == .max)
  }

  @Test func `a reference to a deleted record is cleared with its position, if the delete rule and the model allow it`()
    throws
  {
    let row = track(1, [model.owner: model.reference(1), model.position: .int(3)])
    try withChange(model.change(of: row)) { change in
      let cleared = try change.clearingReferences { $0 == model.id(model.playlist, 1) }
      #expect(cleared.changed == SlotSet([model.owner, model.position]))
      #expect(cleared.row?[model.owner] == .null && cleared.row?[model.position] == .null)
      #expect(cleared.row?.version == 2)
      let unchanged = try change.clearingReferences { _ in false }
      #expect(!unchanged.isWritten)
    }
    // The stored row has no reference, so that nothing remains to be written.
    let moved = model.change(of: track(1), setting: [model.owner: model.reference(1)])
    moved.seal(as: moved.id, version: 2)
    try withChange(moved) { change in
      let cleared = try change.clearingReferences { _ in true }
      #expect(!cleared.isWritten)
    }
    try withChange(PendingRecord(deleting: row)) { change in
      let deleted = try change.clearingReferences { _ in true }
      #expect(deleted.row?[model.owner] == model.reference(1))
    }
    let person = PendingRecord(changing: staff.row(staff.person, 1, ["firm": .reference(staff.id(staff.firm, 2))]))
    let owner = PendingRecord(deleting: staff.row(staff.firm, 2))
    let changes = try withExtendedLifetime([person, owner]) {
      try RecordChange.clearingReferencesToDeleted(in: [RecordChange(person), RecordChange(owner)]).map(\.isWritten)
    }
    #expect(changes == [true, false])
  }

  // MARK: Groups

  @Test func `the rows of a save are grouped by entity and changed slots, in any order`() {
    var changes = RowChanges()
    let (first, second) = (model.row(model.track, key: 1), model.row(model.playlist, key: 2))
    #expect(changes.insert(first, of: model.track) == 0)
    #expect(changes.insert(second, of: model.playlist) == 1)
    #expect(changes.insert(model.row(model.track, key: 3), of: model.track, isRestored: true) == 0)
    #expect(changes.insert(model.row(model.track, key: 4), of: model.track) == 0)
    #expect(changes.inserts.map { $0.rows.map(\.key) } == [[1, 3, 4], [2]])
    #expect(changes.inserts.map(\.restoredKeys) == [[3], []])
    for (key, slots) in [(1, [model.title]), (2, [model.plays]), (3, [model.title]), (4, [model.title])] {
      let base = model.row(model.track, key: Int64(key))
      changes.update(RowUpdate(row: base, baseVersion: 1), of: model.track, slots: SlotSet(slots), base: base)
    }
    #expect(changes.updates.map { $0.updates.map(\.row.key) } == [[1, 3, 4], [2]])
    #expect(changes.updates.map { $0.bases.map { $0?.key } } == [[1, 3, 4], [2]])
    for (key, entity) in [(1, model.track), (2, model.playlist), (3, model.track)] as [(Int64, EntityDescription)] {
      let base = model.row(entity, key: key)
      let group = changes.delete(RowDelete(id: base.id, baseVersion: 1), of: entity, base: base)
      #expect(group == (entity === model.track ? 0 : 1))
    }
    #expect(changes.deletes.map { $0.bases.map { $0?.key } } == [[1, 3], [2]])
    #expect(changes.deletes.map { $0.deletes.map(\.id.key) } == [[1, 3], [2]])
  }

  @Test func `the steps of updates are in the order of entities and slots`() {
    let groups = [
      SlotGroup(model.playlist, SlotSet([0])), SlotGroup(model.track, SlotSet([0])),
      SlotGroup(model.track, SlotSet([0, 1])), SlotGroup(model.track, SlotSet([1])),
    ]
    for (index, group) in groups.enumerated() {
      #expect(groups.map { $0.precedes(group) } == groups.indices.map { $0 < index })
      #expect(groups.map { $0 == group } == groups.indices.map { $0 == index })
    }
  }

  @Test func `a unit of work keeps the changes of each group, and the changes of links without a row`() throws {
    let clubs = try #require(staff.person.relationship(named: "clubs"))
    let inserted = PendingRecord(inserting: staff.id(staff.person, 1), staff.row(staff.person, 1))
    let firm = PendingRecord(inserting: staff.id(staff.firm, 2), staff.row(staff.firm, 2))
    let linked = PendingRecord(changing: staff.row(staff.person, 3))
    linked.members[clubs] = MemberChanges()
    let deleted = PendingRecord(deleting: staff.row(staff.firm, 4, version: 6))
    let updated = PendingRecord(changing: staff.row(staff.person, 5))
    updated.set(.int(1), at: staff.slot("age", of: staff.person))
    updated.seal(as: updated.id, version: 2)
    let records = [inserted, firm, linked, deleted, updated]
    var unit = UnitOfWork(of: RecordKeeper(records))
    for record in records { unit.append(RecordChange(record)) }
    #expect(unit.insertGroups.map { $0.map(\.id.key) } == [[1], [2]])
    #expect(unit.updates.map(\.id.key) == [3, 5])
    #expect(unit.deletes.map(\.id.key) == [4])
    #expect(unit.changes.map(\.id.key) == [1, 2, 3, 5, 4])
    #expect(unit.insertsAndUpdates.map(\.id.key) == [1, 2, 3, 5])
    #expect(unit.rows.updates.map { $0.updates.map(\.row.key) } == [[5]])
    #expect(unit.rows.deletes.map { $0.deletes.map(\.baseVersion) } == [[6]])
  }

  // MARK: Identifiers

  @Test func `a save with a reference knows the identifiers reserved for all of its records`() {
    let club = PendingRecord(inserting: .temporary(for: staff.club), staff.row(staff.club, 1))
    let first = PendingRecord(inserting: .temporary(for: model.track), track())
    let second = PendingRecord(inserting: .temporary(for: staff.note), staff.row(staff.note, 1))
    let saved = PendingRecord(changing: track())
    first.reservedID = model.id(model.track, 5)
    club.reservedID = staff.id(staff.club, 6)
    let ids = PermanentIDs(reservedFor: [club, first, second, saved])
    #expect(ids[first.id] == model.id(model.track, 5))
    #expect(ids[club.id] == staff.id(staff.club, 6))
    #expect(ids[second.id] == second.id)
    #expect(ids[saved.id] == saved.id)
    #expect(PermanentIDs()[first.id] == first.id)
  }

  @Test func `a record that became another record twice stands for the last one, until it is separated`() {
    let ids = (0...4).map { model.id(model.track, Int64($0)) }
    var permanentIDs = PermanentIDs()
    permanentIDs.join([ids[0], ids[1]], to: ids[2])
    #expect(permanentIDs[ids[0]] == ids[2] && permanentIDs[ids[1]] == ids[2])
    #expect(permanentIDs[ids[2]] == ids[2])
    permanentIDs.join([ids[2], ids[3]], to: ids[3])
    #expect(ids.map { permanentIDs[$0] } == [ids[3], ids[3], ids[3], ids[3], ids[4]])
    permanentIDs.separate([ids[0]])
    #expect(permanentIDs[ids[0]] == ids[0])
    #expect(permanentIDs[ids[1]] == ids[3])
  }

  @Test func `records that are joined and separated in any order stand for the records that they became`() {
    let ids = (0..<20).map { model.id(model.track, Int64($0)) }
    var random = SeededRandom(seed: 3)
    var permanentIDs = PermanentIDs()
    var expected: [ManagedObjectID: ManagedObjectID] = [:]
    for _ in 0..<2_000 {
      let former = [ManagedObjectID](ids.shuffled(using: &random).prefix(2))
      if random.isTrue(0.2) {
        permanentIDs.separate(former)
        for id in former { expected[id] = nil }
      } else if let id = ids.randomElement(using: &random) {
        permanentIDs.join(former, to: id)
        for (earlier, target) in expected where former.contains(target) { expected[earlier] = id }
        for formerID in former where formerID != id { expected[formerID] = id }
      }
      #expect(ids.map { permanentIDs[$0] } == ids.map { expected[$0] ?? $0 })
    }
  }

  @Test func `the joins of records move with the record that they joined`() throws {
    let person = PendingRecord(inserting: .temporary(for: staff.person), staff.row(staff.person, 1))
    let second = PendingRecord(inserting: .temporary(for: staff.person), staff.row(staff.person, 2))
    let stored = staff.id(staff.person, 9)
    let unrelated = try ManagedObjectModel { Entity("Unrelated") }
    withExtendedLifetime([person, second]) {
      var joins = JoinedRecords()
      #expect(joins.isEmpty)
      joins.note(RecordChange(person), becoming: second.id, besides: RecordChange(second), in: unrelated)
      #expect(joins.absorbed.map(\.id) == [second.id])
      #expect(joins.isTarget(second.id) && !joins.isTarget(stored))
      joins.note(RecordChange(second), becoming: stored, besides: nil, in: unrelated)
      #expect(joins.targets == [stored])
      #expect(joins.absorbed.map(\.id) == [stored])
      #expect(joins.absorbed.first?.record === person)
      #expect(joins.separate(stored).map(\.record.id) == [second.id, person.id])
      #expect(joins.absorbed.isEmpty && joins.isEmpty)
      #expect(joins.separate(stored).isEmpty)
    }
  }

  // MARK: Hooks

  @Test func `the hooks of a record are repeated for a change by a later record, and not for a change of its own`() {
    let records = (1...3).map { PendingRecord(changing: model.row(model.track, key: $0)) }
    let later = PendingRecord(changing: model.row(model.track, key: 4))
    var calls = HookCalls(records)
    calls.noteChanges(of: [records[0], records[1], records[2], later], byRecordAt: 1)
    #expect(calls.hasRecordsToRepeat)
    #expect(calls.takeRecordsToRepeat().map(\.id.key) == [1])
    #expect(!calls.hasRecordsToRepeat)
    calls.noteChanges(of: [later], by: later)
    #expect(!calls.hasRecordsToRepeat)
    calls.noteChanges(of: [later, records[2], later], by: records[0])
    #expect(calls.takeRecordsToRepeat().map(\.id.key) == [4, 3])
    #expect(calls.takeRecordsToRepeat().isEmpty)
  }
}
