import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Pages of changes with values that pending edits keep out of the store, or that late replies replace.
@Suite("Changes of the server that wait for the end of an edit")
struct PostponedChangeTests {
  private let source = ScriptedEdits()

  private func merge(
    _ page: DeltaPage, _ stack: MergeStack, _ policy: MergeOptions.PendingEditsPolicy = .keepLocal
  ) throws -> MergeResult {
    try stack.connect.newActionContext().merge(
      page, for: try stack.entity("Artist"), options: MergeOptions(maximumDeletedShare: 1, pendingEdits: policy))
  }

  private func page(_ names: [Int: String]) -> DeltaPage { DeltaPage(records: MergeStack.artists(names)) }

  @Test(arguments: Backend.available)
  func `a change of a record whose edit is on its way is postponed under every policy`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old"])
    source.add(try stack.renamed(1, from: "old", isBeingSent: true))
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      // Another value, the value from before the edit, and the value of the edit.
      for name in ["new", "old", "edited"] {
        #expect(try merge(page([1: name, 2: name]), stack, policy).postponed == 1)
        #expect(try stack.names() == [1: "edited", 2: name])
      }
    }
    let record = MergeRecord(["id": 1, "note": "new"])
    let result = try merge(DeltaPage(records: [record]), stack)
    #expect(result.updated == 1 && result.postponed == 1)
  }

  @Test(arguments: Backend.available)
  func `a deletion by the server is postponed while an edit of the record is on its way`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old", 3: "old"])
    source.add(try stack.renamed(1, from: "old", isBeingSent: true))
    let tombstones = try merge(DeltaPage(tombstones: [1, 2]), stack)
    #expect(tombstones.deleted == 1 && tombstones.postponed == 1)
    let complete = try merge(DeltaPage(isComplete: true), stack)
    #expect(complete.deleted == 1 && complete.postponed == 1)
    #expect(try stack.names() == [1: "edited"])
  }

  @Test(arguments: Backend.available)
  func `a value that an unsent edit keeps out is postponed, except for a conflict`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    var edit = try stack.renamed(1, from: "old")
    source.add(edit)
    #expect(try merge(page([1: "new"]), stack).postponed == 1)
    #expect(try merge(page([1: "old"]), stack).postponed == 0)
    let conflict = try merge(page([1: "new"]), stack, .conflict)
    #expect(conflict.postponed == 0 && conflict.pendingConflicts == 1)
    edit.conflict = PendingConflict(names: ["name"], serverValues: ["name": .string("new")])
    source.add(edit)
    #expect(try merge(page([1: "new"]), stack).postponed == 0)
    #expect(try merge(page([1: "newer"]), stack).postponed == 1)
    let lost = try merge(page([1: "newer"]), stack, .server)
    #expect(lost.postponed == 0 && lost.updated == 1)
  }

  @Test(arguments: Backend.available)
  func `a page of changes with the value of an unsent edit is postponed, because the user may take the edit back`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    source.add(try stack.renamed(1, from: "old"))
    #expect(try merge(page([1: "edited"]), stack).postponed == 1)
    let record = MergeRecord(["id": 1, "name": "edited", "note": "new"])
    let result = try merge(DeltaPage(records: [record]), stack)
    #expect(result.updated == 1 && result.postponed == 1)
    #expect(try merge(DeltaPage(records: [record], isComplete: true), stack).postponed == 1)
    // Other input comes again.
    #expect(try stack.merge(MergeStack.artists([1: "edited"]), into: "Artist").postponed == 0)
  }

  @Test(arguments: Backend.available)
  func `new records and unknown tombstones are postponed while an insert has no reply`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "inserted"])
    let id = try stack.artistID(1)
    source.add(PendingEdit(of: id, .insert, isBeingSent: true, isInsertUnanswered: true))
    let result = try merge(page([2: "new"]), stack)
    #expect(result.inserted == 1 && result.postponed == 1)
    #expect(try merge(DeltaPage(tombstones: [3]), stack).postponed == 1)
    source.add(PendingEdit(of: id, .insert))
    #expect(try merge(page([4: "new"]), stack).postponed == 0)
    #expect(try merge(DeltaPage(tombstones: [3]), stack).postponed == 0)
  }

  @Test(arguments: Backend.available)
  func `a value that an edit confirmed since the request keeps out is postponed`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    let id = try stack.artistID(1)
    source.add(PendingEdit(of: id, .update, outdated: ["name": [.string("old")]], isConfirmed: true))
    let result = try merge(page([1: "old"]), stack)
    #expect(result.updated == 0 && result.postponed == 1)
    let newer = try merge(page([1: "newer"]), stack)
    #expect(newer.updated == 1 && newer.postponed == 0)
  }

  @Test(arguments: Backend.available)
  func `a record that a deletion confirmed since the request keeps out is postponed`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old"])
    var deletion = try stack.deleteArtist(1)
    (deletion.isBeingSent, deletion.isConfirmed) = (true, true)
    source.add(deletion)
    // Another client may have restored the record before the reply to the deletion.
    let result = try merge(page([1: "restored"]), stack)
    #expect(result.inserted == 0 && result.postponed == 1)
    source.remove(deletion.recordID)
    let repeated = try merge(page([1: "restored"]), stack)
    #expect(repeated.inserted == 1 && repeated.postponed == 0)
  }

  @Test(arguments: Backend.available)
  func `a list that edits of its members keep is postponed, also beside another edit of its owner`(
    backend: Backend
  ) throws {
    let source = ScriptedEdits(["Artist", "Album"])
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "two"])
    // The server has the album with the first artist; the user has moved it.
    try stack.merge([MergeRecord(["label": "L", "number": 1], links: ["artist": .one(2)])], into: "Album")
    let album = try stack.read { try stack.objects("Album", $0).map(\.objectID) }
    let moved = PendingEdit(of: try #require(album.first), .update, changed: ["artist"])
    let page = DeltaPage(records: [MergeRecord(["id": 1], links: ["albums": .many([MergeKey("L", 1)])])])
    source.add(moved)
    #expect(try merge(page, stack).postponed == 1)
    source.add(try stack.renamed(1, from: "old"))
    #expect(try merge(page, stack).postponed == 1)
    source.remove(moved.recordID)
    #expect(try merge(page, stack).postponed == 0)
  }

  @Test(arguments: Backend.available)
  func `a list that edits of its members keep is postponed when the edit of the list itself loses`(
    backend: Backend
  ) throws {
    let source = ScriptedEdits(["Artist", "Album"])
    let stack = try MergeStack.pending(backend, source, names: [1: "one", 2: "two"])
    try stack.merge([MergeRecord(["label": "L", "number": 1], links: ["artist": .one(2)])], into: "Album")
    let album = try stack.read { try stack.objects("Album", $0).map(\.objectID) }
    source.add(PendingEdit(of: try #require(album.first), .update, changed: ["artist"]))
    source.add(PendingEdit(of: try stack.artistID(1), .update, changed: ["albums"]))
    let page = DeltaPage(records: [MergeRecord(["id": 1], links: ["albums": .many([MergeKey("L", 1)])])])
    #expect(try merge(page, stack, .server).postponed == 1)
    #expect(source.decisions.map(\.discarded) == [["albums"]])
  }
}
