import Testing

@testable import CoherenceCore

/// The unsaved changes of one record, as values.
@Suite struct PendingRecordTests {
  private let model: PlaylistModel
  private let staff: StaffModel

  init() throws {
    model = try PlaylistModel()
    staff = try StaffModel()
  }

  private func adding(_ id: ManagedObjectID) -> MemberChanges {
    var changes = MemberChanges()
    changes.add(id, comesLast: true)
    return changes
  }

  // MARK: Kinds of changes

  @Test func `a change of the position alone is distinguished from every other change`() {
    let row = model.row(model.track)
    #expect(!model.change(of: row).changesPositionsOnly)
    let moved = model.change(of: row, setting: [model.position: .int(5)])
    #expect(moved.changesPositionsOnly)
    moved.set(.string("A"), at: model.title)
    #expect(!moved.changesPositionsOnly)
    let inserted = PendingRecord(inserting: row.id, row)
    inserted.set(.int(5), at: model.position)
    #expect(!inserted.changesPositionsOnly)
  }

  @Test func `members of an ordered relationship are a value of the record, other members are not`() throws {
    let list = PendingRecord(changing: model.row(model.playlist))
    list.members[model.tracks] = MemberChanges()
    #expect(list.hasMembers)
    #expect(list.isUnchanged && !list.changesLists && !list.isWritten)
    list.members[model.tracks] = adding(model.id(model.track, 1))
    #expect(!list.isUnchanged && list.changesLists && list.isWritten)
    list.kind = .deleted
    #expect(!list.changesLists && !list.isWritten)
    let person = PendingRecord(changing: staff.row(staff.person, 1))
    let clubs = try #require(staff.person.relationship(named: "clubs"))
    person.members[clubs] = adding(staff.id(staff.club, 1))
    #expect(!person.isUnchanged && !person.changesLists && !person.isWritten)
  }

  @Test func `a save is based on the oldest version of the row, of overtaken edits and of changed lists`() {
    let list = PendingRecord(changing: model.row(model.playlist, version: 7))
    #expect(list.baseVersion == 7)
    list.overtaken = OvertakenEdits(madeOn: 4)
    #expect(list.baseVersion == 4)
    var changes = MemberChanges()
    changes.begin(at: ListOrigin(version: 3, ids: [model.id(model.track, 1)]))
    list.members[model.tracks] = changes
    #expect(list.baseVersion == 4)
    changes.add(model.id(model.track, 2), comesLast: true)
    list.members[model.tracks] = changes
    #expect(list.baseVersion == 3)
    list.acceptBase()
    #expect(list.hasAcceptedBase)
    #expect(list.overtaken == nil)
    #expect(list.baseVersion == 7)
    #expect(list.members[model.tracks]?.origin?.ids == nil)
    #expect(PendingRecord(inserting: list.id, model.row(model.playlist, version: 7)).baseVersion == 0)
  }

  @Test func `only targets and members that the context has set are related edits`() {
    let row = model.row(model.track, [model.owner: model.reference(1)])
    #expect(PendingRecord(inserting: row.id, row).hasRelatedEdits)
    #expect(!PendingRecord(inserting: row.id, model.row(model.track)).hasRelatedEdits)
    let record = model.change(of: row, setting: [model.title: .string("A")])
    #expect(!record.hasRelatedEdits)
    record.set(.null, at: model.owner)
    #expect(record.hasRelatedEdits)
    let list = PendingRecord(changing: model.row(model.playlist))
    list.members[model.tracks] = adding(row.id)
    #expect(list.hasRelatedEdits)
  }

  @Test func `the partners of a record are its targets and added members`() throws {
    let person = PendingRecord(changing: staff.row(staff.person, 1, ["firm": .reference(staff.id(staff.firm, 2))]))
    #expect(person.partners == [staff.id(staff.firm, 2)])
    var changes = adding(staff.id(staff.club, 3))
    changes.remove(staff.id(staff.club, 4))
    let clubs = try #require(staff.person.relationship(named: "clubs"))
    person.members[clubs] = changes
    #expect(person.partners == [staff.id(staff.firm, 2), staff.id(staff.club, 3)])
  }

  @Test func `a key is reserved for an inserted record without a permanent identifier alone`() {
    let fresh = PendingRecord(inserting: .temporary(for: model.track), model.row(model.track))
    #expect(fresh.needsKey)
    #expect(fresh.permanentID == fresh.id)
    fresh.reservedID = model.id(model.track, 9)
    #expect(!fresh.needsKey)
    #expect(fresh.permanentID == model.id(model.track, 9))
    #expect(!PendingRecord(inserting: model.id(model.track, 1), model.row(model.track)).needsKey)
    #expect(!PendingRecord(changing: model.row(model.track)).needsKey)
  }

  @Test func `only a tracked delete without an object is a bare delete`() {
    let record = PendingRecord(deleting: model.row(model.track))
    #expect(!record.isBareDelete)
    record.isTracked = true
    #expect(record.isBareDelete)
    record.object = ManagedObject(entity: model.track, insertInto: nil)
    #expect(!record.isBareDelete)
    let changed = PendingRecord(changing: model.row(model.track))
    changed.isTracked = true
    #expect(!changed.isBareDelete)
  }

  // MARK: Assignments

  @Test func `a default value is no assignment until another value is assigned`() {
    let record = PendingRecord(inserting: .temporary(for: model.track), model.row(model.track))
    record.set(.string("untitled"), at: model.title)
    record.set(model.reference(1), at: model.owner)
    record.noteDefaults()
    #expect(record.assignedSlots == SlotSet([model.owner]))
    record.set(.string("A"), at: model.title)
    #expect(record.assignedSlots == SlotSet([model.title, model.owner]))
    record.set(.string("untitled"), at: model.title)
    #expect(record.assignedSlots == SlotSet([model.owner]))
  }

  @Test func `values from before a hook stay assignments`() {
    let record = PendingRecord(inserting: .temporary(for: model.track), model.row(model.track))
    record.set(.string("A"), at: model.title)
    let assigned = record.changed
    record.noteDefaults(since: assigned)
    #expect(record.initialState == nil)
    record.set(.int(1), at: model.plays)
    record.noteDefaults(since: assigned)
    #expect(record.assignedSlots == SlotSet([model.title]))
  }

  @Test func `the former value is no change, and its edit is not overtaken any more`() {
    let record = model.change(
      of: model.row(model.track, [model.title: .string("A"), model.plays: .int(1)]),
      setting: [model.title: .string("B"), model.plays: .int(2)])
    var overtaken = OvertakenEdits(madeOn: 1)
    overtaken.note(model.title, madeOn: .string("A"))
    overtaken.note(model.plays, madeOn: .int(1))
    record.overtaken = overtaken
    record.set(.string("A"), at: model.title)
    #expect(record.changed == SlotSet([model.plays]))
    #expect(record.overtaken?[model.title] == nil)
    #expect(record.overtaken?[model.plays] == .int(1))
    record.set(.int(1), at: model.plays)
    #expect(record.isUnchanged)
    #expect(record.overtaken == nil)
  }

  // MARK: Identifiers and bases

  @Test func `former identifiers are replaced in the values and in the row below them`() {
    let former = ManagedObjectID.temporary(for: model.playlist)
    let row = model.row(model.track, [model.owner: .reference(former)])
    let permanentIDs = [former: model.id(model.playlist, 4)]
    let record = model.change(of: row)
    #expect(record.replaceReferences(permanentIDs))
    #expect(record[model.owner] == model.reference(4))
    #expect(record.base?[model.owner] == model.reference(4))
    #expect(record.isUnchanged)
    #expect(!record.replaceReferences(permanentIDs))
    let cleared = model.change(of: row, setting: [model.owner: .null])
    #expect(!cleared.replaceReferences(permanentIDs))
    #expect(cleared[model.owner] == .null)
    #expect(cleared.base?[model.owner] == model.reference(4))
  }

  @Test func `a newer row below an edit shows its other values, and ends an edit with the same value`() {
    let base = model.row(model.track, [model.title: .string("A"), model.plays: .int(1)])
    let row = model.row(model.track, version: 2, [model.title: .string("C"), model.plays: .int(2)])
    let record = model.change(of: base, setting: [model.plays: .int(2)])
    record.rebase(onto: row)
    #expect(record[model.title] == .string("C"))
    #expect(record.isUnchanged)
    #expect(record.base?.version == 2)
    let combined = model.change(of: base, setting: [model.plays: .int(2)])
    combined.rebase(onto: row, combining: SlotSet([model.plays]))
    #expect(combined.changed == SlotSet([model.plays]))
  }

  @Test func `the position in a list follows the own change of its owner, and otherwise the newer row`() {
    let base = model.row(model.track, [model.owner: model.reference(1), model.position: .int(1)])
    let row = model.row(
      model.track, version: 2, [model.owner: model.reference(1), model.position: .int(9), model.plays: .int(3)])
    let moved = model.change(of: base, setting: [model.owner: model.reference(2)])
    moved.rebase(onto: row)
    #expect(moved[model.position] == .int(1))
    #expect(moved[model.plays] == .int(3))
    let edited = model.change(of: base, setting: [model.title: .string("A")])
    edited.rebase(onto: row)
    #expect(edited[model.position] == .int(9))
  }
}
