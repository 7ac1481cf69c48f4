import Testing

@testable import CoherenceCore

/// Edits of a record that saves of other writers have overtaken, as values.
@Suite struct OvertakenRecordTests {
  private let model: PlaylistModel

  init() throws { model = try PlaylistModel() }

  private func row(_ title: String, version: Int64 = 1, _ values: [Int: AttributeValue] = [:]) -> Row {
    model.row(model.track, version: version, values.merging([model.title: .string(title)]) { $1 })
  }

  private func edit(of row: Row, _ title: String) -> PendingRecord {
    model.change(of: row, setting: [model.title: .string(title)])
  }

  private func refresh(_ record: PendingRecord, from row: Row) {
    record.refresh(from: row, stored: row, below: [], combining: SlotSet())
  }

  // MARK: Refreshes

  @Test func `a save of the edited property overtakes the edit until another save gives the former value back`() {
    let record = edit(of: row("A"), "mine")
    refresh(record, from: row("B", version: 2))
    #expect(record[model.title] == .string("mine"))
    #expect(record.overtaken?[model.title] == .string("A"))
    #expect(record.base?.version == 2)
    #expect(record.baseVersion == 1)
    refresh(record, from: row("C", version: 3))
    #expect(record.overtaken?[model.title] == .string("A"))
    refresh(record, from: row("A", version: 4))
    #expect(record.overtaken == nil)
    #expect(record.baseVersion == 4)
  }

  @Test func `a row of the same version does not overtake an edit`() {
    let record = edit(of: row("A"), "mine")
    refresh(record, from: row("B"))
    #expect(record.base?[model.title] == .string("A"))
    #expect(record.overtaken == nil)
  }

  @Test func `edits on top of a parent's edit and positions are not overtaken by a row`() throws {
    let record = model.change(
      of: row("A", [model.owner: model.reference(1), model.position: .int(1)]),
      setting: [model.title: .string("mine"), model.position: .int(2)])
    let newer = row("B", version: 2, [model.owner: model.reference(1), model.position: .int(3)])
    let parent = try #require(ParentEdits(edit(of: row("A"), "parent's")))
    record.refresh(from: newer, stored: nil, below: [parent], combining: SlotSet())
    #expect(record.overtaken == nil)
    #expect(record.base?.version == 2)
  }

  @Test func `a delete follows a newer version with equal values alone, unless the record has an ordered list`() {
    func baseVersion(ofDeleted base: Row, after row: Row) -> Int64? {
      let record = PendingRecord(deleting: base)
      refresh(record, from: row)
      return record.base?.version
    }
    #expect(baseVersion(ofDeleted: row("A"), after: row("A", version: 2)) == 2)
    #expect(baseVersion(ofDeleted: row("A"), after: row("B", version: 2)) == 1)
    #expect(baseVersion(ofDeleted: row("A", version: 0), after: row("B", version: 1)) == 1)
    #expect(baseVersion(ofDeleted: row("A", version: 0), after: row("B", version: 2)) == 0)
    let list = model.row(model.playlist)
    #expect(baseVersion(ofDeleted: list, after: model.row(model.playlist, version: 2)) == 1)
  }

  @Test func `the ancestor of a conflict has the values and the version on which the edits are based`() {
    var edits = OvertakenEdits(madeOn: 5)
    #expect(edits.isEmpty)
    edits.note(model.title, madeOn: .string("A"), version: 7)
    #expect(edits.version == 5)
    edits.note(model.plays, madeOn: .int(1), version: 3)
    let ancestor = edits.ancestor(of: row("B", version: 9, [model.plays: .int(2), model.position: .int(4)]))
    #expect(ancestor.version == 3)
    #expect(ancestor[model.title] == .string("A"))
    #expect(ancestor[model.plays] == .int(1))
    #expect(ancestor[model.position] == .int(4))
    edits.forget(model.plays)
    #expect(edits[model.plays] == nil && !edits.isEmpty)
  }

  // MARK: Children

  /// The overtaken edits of a parent's record after a child's save.
  private func noted(
    _ own: PendingRecord, _ child: PendingRecord, current: (AttributeValue) -> AttributeValue = { $0 }
  ) -> OvertakenEdits? {
    own.noteOvertaken(of: child, current: current)
    return own.overtaken
  }

  @Test func `a child's edit of a property that another writer has saved since is overtaken`() {
    let overtaken = noted(model.change(of: row("B", version: 3)), edit(of: row("A"), "child's"))
    #expect(overtaken?[model.title] == .string("A"))
    #expect(overtaken?.version == 1)
  }

  @Test func `a child's edit is not overtaken by its own version, by another property and by the parent's own edit`() {
    let child = edit(of: row("A"), "child's")
    #expect(noted(model.change(of: row("B")), child) == nil)
    #expect(noted(model.change(of: row("A", version: 3, [model.plays: .int(1)])), child) == nil)
    #expect(noted(edit(of: row("B", version: 3), "parent's"), child) == nil)
  }

  @Test(arguments: [false, true])
  func `a child's edit to the value of another writer is overtaken, unless its parent compares properties`(
    comparesProperties: Bool
  ) {
    let own = model.change(of: row("B", version: 3))
    let child = edit(of: row("A"), "B")
    own.noteOvertaken(of: child) { $0 }
    own.apply(.string("B"), at: model.title, of: child, SlotSet(), comparesProperties)
    #expect(own.isUnchanged == comparesProperties)
    #expect(own.overtaken?[model.title] == (comparesProperties ? nil : AttributeValue.string("A")))
    #expect(own.baseVersion == (comparesProperties ? 3 : 1))
  }

  @Test func `a child's edit ends the overtaken edit of its parent if it has the value of the other writer`() {
    let own = edit(of: row("A"), "parent's")
    refresh(own, from: row("B", version: 3))
    let child = edit(of: row("parent's", version: 3), "B")
    own.noteOvertaken(of: child) { $0 }
    own.apply(.string("B"), at: model.title, of: child, SlotSet(), false)
    #expect(own.isUnchanged)
    #expect(own.overtaken == nil)
  }

  @Test func `a child's overtaken edit keeps the value and the version on which it was made`() {
    let child = edit(of: row("A"), "child's")
    refresh(child, from: row("B", version: 3))
    let overtaken = noted(model.change(of: row("B", version: 3)), child)
    #expect(overtaken?[model.title] == .string("A"))
    #expect(overtaken?.version == 1)
  }

  @Test func `a former identifier below a child's edit is compared by its present one`() {
    let former = AttributeValue.reference(.temporary(for: model.playlist))
    let child = model.change(of: row("A", [model.owner: former]), setting: [model.owner: .null])
    let own = model.change(of: row("A", version: 3, [model.owner: model.reference(1)]))
    let overtaken = noted(own, child) { $0 == former ? model.reference(1) : $0 }
    #expect(overtaken == nil)
    #expect(noted(own, child)?[model.owner] == former)
  }

  @Test func `a child's delete is overtaken by a save of any property`() {
    let overtaken = noted(
      model.change(of: row("A", version: 3, [model.plays: .int(2)])), PendingRecord(deleting: row("A")))
    #expect(overtaken?[model.plays] == .null)
    #expect(overtaken?[model.title] == nil)
  }

  // MARK: Saves past a parent

  @Test func `a save past a parent is overtaken by a later stored value alone`() {
    func overtaken(_ record: PendingRecord, by stored: Row, _ parents: [ParentEdits] = []) -> OvertakenEdits? {
      record.editsOvertaken(by: stored, below: parents) { $0 }
    }
    let record = edit(of: row("A"), "mine")
    #expect(overtaken(record, by: row("B", version: 2))?[model.title] == .string("A"))
    #expect(overtaken(record, by: row("B", version: 2))?.version == 1)
    #expect(overtaken(record, by: row("A", version: 2, [model.plays: .int(1)])) == nil)
    #expect(overtaken(record, by: row("B")) == nil)
    #expect(overtaken(PendingRecord(inserting: record.id, row("A")), by: row("B", version: 2)) == nil)
  }

  @Test func `an edit over a parent's edit is overtaken when the value below the parent's edit has changed`() throws {
    let parent = edit(of: row("A"), "parent's")
    let record = edit(of: row("parent's"), "mine")
    let edits = try #require(ParentEdits(parent))
    func overtaken(by stored: Row) -> OvertakenEdits? { record.editsOvertaken(by: stored, below: [edits]) { $0 } }
    #expect(overtaken(by: row("A", version: 2)) == nil)
    #expect(overtaken(by: row("B"))?[model.title] == .string("A"))
    // The version is below the stored one, so that the store reports the conflict.
    #expect(overtaken(by: row("B"))?.version == 0)
    record.hasAcceptedBase = true
    #expect(overtaken(by: row("B")) == nil)
  }

  @Test func `the edit of the farthest parent is based on the stored value`() throws {
    let far = try #require(ParentEdits(edit(of: row("A"), "far")))
    let near = try #require(ParentEdits(edit(of: row("far"), "near")))
    #expect([near, far].origin(of: model.title) == .string("A"))
    #expect([near].origin(of: model.title) == .string("far"))
    #expect([near, far].origin(of: model.plays) == nil)
    let record = edit(of: row("A"), "mine")
    refresh(record, from: row("B", version: 2))
    let edits = try #require(ParentEdits(record))
    #expect(edits.slots == SlotSet([model.title]))
    #expect([edits].origin(of: model.title) == .string("A"))
    #expect(ParentEdits(PendingRecord(inserting: record.id, row("A"))) == nil)
  }

  @Test func `a save past a parent is based on the lowest version`() {
    let record = edit(of: row("A", version: 4), "mine")
    #expect(StoredBase(row: row("A", version: 6), overtaken: nil).version(for: record) == 4)
    #expect(StoredBase(row: row("A", version: 3), overtaken: nil).version(for: record) == 3)
    #expect(StoredBase(row: row("A", version: 6), overtaken: OvertakenEdits(madeOn: 2)).version(for: record) == 2)
  }
}
