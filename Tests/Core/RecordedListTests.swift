import Testing

@testable import CoherenceCore

/// The changes of an ordered list that an undo reverts, among the changes of other writers.
@Suite struct RecordedListTests {
  private let model: PlaylistModel
  private let staff: StaffModel

  init() throws {
    model = try PlaylistModel()
    staff = try StaffModel()
  }

  private func ids(_ keys: Int64...) -> [ManagedObjectID] { keys.map { model.id(model.track, $0) } }
  private func id(_ key: Int64) -> ManagedObjectID { model.id(model.track, key) }

  private func list(_ before: [ManagedObjectID], _ edits: MemberEdit...) -> RecordedList {
    let list = RecordedList(
      ManagedObject(entity: model.playlist, insertInto: nil), model.tracks, before: before)
    for edit in edits { list.note(edit) }
    return list
  }

  private func reverted(_ list: RecordedList, _ members: [ManagedObjectID]) -> [ManagedObjectID] {
    list.reverted(members) { $0 }
  }

  @Test func `an undo removes the added members and returns the removed ones to their places`() {
    let edited = list(ids(1, 2, 3), .add(id(4)), .remove(id(1)), .remove(id(3)))
    #expect(reverted(edited, ids(2, 4)) == ids(1, 2, 3))
    // Another writer has added a member, removed one, and moved the others.
    #expect(reverted(edited, ids(9, 2, 4)) == ids(1, 9, 2, 3))
    #expect(reverted(edited, ids(4)) == ids(1, 3))
  }

  @Test func `an undo of moves restores the former order around the members of other writers`() {
    let moved = list(ids(1, 2, 3), .order(ids(3, 2, 1)))
    #expect(reverted(moved, ids(3, 2, 1)) == ids(1, 2, 3))
    #expect(reverted(moved, ids(9, 3, 8, 1)) == ids(9, 1, 3, 8))
    let untouched = list(ids(1, 2, 3))
    #expect(reverted(untouched, ids(3, 2, 1)) == ids(3, 2, 1))
  }

  @Test func `a replaced list is recorded as its additions, removals and moves`() {
    #expect(reverted(list(ids(1, 2), .replace(ids(1, 2), by: ids(2, 3))), ids(2, 3)) == ids(1, 2))
    #expect(reverted(list(ids(1, 2, 3), .replace(ids(1, 2, 3), by: ids(2, 1))), ids(2, 1)) == ids(1, 2, 3))
    // Without a move the present order stays.
    #expect(reverted(list(ids(1, 2), .replace(ids(1, 2), by: ids(1, 2, 3))), ids(2, 3, 1)) == ids(2, 1))
  }

  @Test func `a member removed and added again may have moved, and a member added and removed is no change`() {
    let returned = list(ids(1, 2), .remove(id(1)), .add(id(1)))
    #expect(reverted(returned, ids(2, 1)) == ids(1, 2))
    let visiting = list(ids(1, 2), .add(id(3)), .remove(id(3)))
    #expect(reverted(visiting, ids(2, 1, 3)) == ids(2, 1, 3))
    #expect(visiting.forgetReferences(of: []))
  }

  @Test func `recorded identifiers are replaced by the present ones`() {
    let edited = list(ids(1, 2), .add(id(4)), .remove(id(1)))
    #expect(Set(edited.recordedIDs) == Set(ids(1, 2, 4)))
    let present = edited.reverted(ids(2, 14)) { $0 == id(4) ? id(14) : $0 == id(1) ? id(11) : $0 }
    #expect(present == ids(11, 2))
  }

  @Test func `the references of a record are forgotten where its own row has them, and nothing is left without moves`()
    throws
  {
    let edited = list(ids(1, 2), .add(id(4)), .remove(id(1)))
    #expect(!edited.forgetReferences(of: [id(4)]))
    #expect(reverted(edited, ids(2, 4)) == ids(1, 2, 4))
    #expect(edited.forgetReferences(of: [id(1)]))
    let moved = list(ids(1, 2), .add(id(4)), .order(ids(2, 1, 4)))
    #expect(!moved.forgetReferences(of: [id(4)]))
    // Links are not in the rows of the members.
    let clubs = try #require(staff.person.relationship(named: "clubs"))
    let links = RecordedList(ManagedObject(entity: staff.person, insertInto: nil), clubs, before: [])
    #expect(!links.forgetReferences(of: []))
  }

  // MARK: Groups

  @Test func `a group records the first of several writes of a value in a row`() {
    let (first, second) = (
      ManagedObject(entity: model.track, insertInto: nil), ManagedObject(entity: model.track, insertInto: nil)
    )
    var group = UndoGroup()
    #expect(group.isEmpty)
    group.append(.value(first, slot: model.title, before: .string("A")))
    group.append(.value(first, slot: model.title, before: .string("B")))
    group.append(.value(first, slot: model.plays, before: .int(1)))
    group.append(.value(second, slot: model.plays, before: .int(2)))
    group.append(.value(first, slot: model.plays, before: .int(3)))
    let values = group.steps.compactMap { step -> AttributeValue? in
      if case .value(_, _, let before, _) = step { before } else { nil }
    }
    #expect(values == [.string("A"), .int(1), .int(2), .int(3)])
  }

  @Test func `a group finds its lists and deletes by their objects, until the step of a list is removed`() {
    let (playlist, other) = (
      ManagedObject(entity: model.playlist, insertInto: nil), ManagedObject(entity: model.playlist, insertInto: nil)
    )
    let list = RecordedList(playlist, model.tracks, before: [])
    let deleted = DeletedObject(other, PendingRecord(deleting: model.row(model.playlist)))
    var group = UndoGroup()
    group.append(.list(list))
    group.append(.deleted(deleted))
    group.append(.inserted(playlist))
    #expect(group.list(of: model.tracks, playlist) === list)
    #expect(group.list(of: model.tracks, other) == nil)
    #expect(group.delete(of: other) === deleted)
    #expect(group.delete(of: playlist) == nil)
    #expect(group.deletes.map { ObjectIdentifier($0) } == [ObjectIdentifier(deleted)])
    group.removeSteps { if case .list = $0 { true } else { false } }
    #expect(group.list(of: model.tracks, playlist) == nil)
    #expect(group.steps.count == 2)
  }

  @Test func `a step names the identifiers that its undo needs, and the temporary ones among them`() {
    let object = ManagedObject(entity: model.track, insertInto: nil)
    let (fresh, saved) = (ManagedObjectID.temporary(for: model.playlist), model.id(model.playlist, 1))
    func names(_ step: UndoStep) -> [[ManagedObjectID]] { [step.recordedIDs, step.temporaryIDs] }
    let own = object.recordID
    #expect(names(.value(object, slot: model.owner, before: .reference(fresh))) == [[own, fresh], [fresh]])
    #expect(names(.value(object, slot: model.owner, before: .reference(saved))) == [[own, saved], []])
    #expect(names(.value(object, slot: model.title, before: .string("A"))) == [[own], []])
    #expect(names(.added(object, model.tracks, fresh)) == [[own, fresh], [fresh]])
    #expect(names(.removed(object, model.tracks, saved)) == [[own, saved], []])
    let members = list([fresh, saved])
    #expect(names(.list(members)) == [[members.object.recordID, fresh, saved], [fresh]])
    #expect(names(.inserted(object)) == [[own], []])
    let deleted = DeletedObject(
      object, PendingRecord(deleting: model.row(model.track, [model.owner: .reference(fresh)])))
    deleted.members[model.tracks] = [saved]
    #expect(names(.deleted(deleted)) == [[model.id(model.track, 1), fresh, saved], [fresh]])
    #expect(deleted.kind == .deleted)
  }
}
