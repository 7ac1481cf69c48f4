import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// A Connect knows edits that the server has not confirmed, and merges a page of the server.
@Suite("Merges under pending edits")
struct PendingEditsTests {
  private let source = ScriptedEdits()

  private func options(_ policy: MergeOptions.PendingEditsPolicy, _ mode: MergeOptions.Mode = .upsertOnly)
    -> MergeOptions
  {
    MergeOptions(mode: mode, maximumDeletedShare: 1, pendingEdits: policy)
  }

  private func notes(_ stack: MergeStack) throws -> [Int32: String?] {
    try stack.values(of: "Artist", "note", by: "id")
  }

  // MARK: The behaviours of Coherence 4.2

  @Test(arguments: Backend.available)
  func `an update from the server is skipped if a local update is pending`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old"])
    source.add(try stack.renamed(1, from: "old"))
    for name in ["old", "new"] {
      let result = try stack.merge(MergeStack.artists([1: name, 2: "old"]), into: "Artist")
      #expect(result.counts == MergeResult.with(unchanged: 1, skipped: 1))
      #expect(result.keptEdits == 1 && result.pendingConflicts == 0)
    }
    #expect(try stack.names() == [1: "edited", 2: "old"])
    #expect(source.decisions.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `an insert from the server is skipped if a local deletion is pending`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    source.add(try stack.deleteArtist(1))
    let result = try stack.merge(MergeStack.artists([1: "new", 2: "new"]), into: "Artist")
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1) && result.keptEdits == 1)
    #expect(try stack.names() == [2: "new"])
  }

  @Test(arguments: Backend.available)
  func `a deletion by the server is skipped if a local update is pending, and is a conflict`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old", 3: "old"])
    source.add(try stack.renamed(1, from: "old"))
    let result = try stack.merge(MergeStack.artists([2: "old"]), into: "Artist")
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1, skipped: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 1)
    var sum = result
    sum += result
    #expect(sum.counts == MergeResult.with(unchanged: 2, deleted: 2, skipped: 2))
    #expect(sum.keptEdits == 2 && sum.pendingConflicts == 2)
    #expect(try stack.names() == [1: "edited", 2: "old"])
    let decision = try #require(source.decisions.first)
    #expect(source.decisions.count == 1 && decision.isConflict && decision.serverValues == nil)
    #expect(try decision.edit.recordID == stack.artistID(1))
  }

  @Test(arguments: Backend.available)
  func `the lack of a record that an update has moved into the filter of a merge is no deletion by the server`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "here", 2: "here", 3: "here", 4: "there"])
    let noted = PendingEdit(of: try stack.artistID(2), .update, changed: ["note"], base: ["note": .null])
    source.add(try stack.renamed(1, from: "there"), noted)
    let here = FetchPredicate.comparison(.path(PropertyPath("name")), .equal, .value(.string("here")))
    let result = try stack.merge([], into: "Artist", within: here, options: options(.keepLocal, .replace))
    #expect(result.keptEdits == 2 && result.pendingConflicts == 1)
    #expect(source.decisions.map(\.edit.recordID) == [noted.recordID])
    #expect(try stack.names() == [1: "here", 2: "here", 4: "there"])
    // With the policy `server`, the deletion wins over the edit of a record that the input would name.
    try stack.merge([], into: "Artist", within: here, options: options(.server, .replace))
    #expect(try stack.names() == [1: "here", 4: "there"])
  }

  @Test(arguments: Backend.available)
  func `without a source of pending edits the server wins`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 3: "edited"])
    source.add(try stack.renamed(1, from: "old"), try stack.renamed(3, from: "old"))
    stack.connect.pendingEdits = nil
    let result = try stack.merge(MergeStack.artists([1: "new", 2: "new"]), into: "Artist")
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, deleted: 1) && result.keptEdits == 0)
    #expect(source.queries.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a record of unknown key is skipped if its values are those of a deleted record without a key`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    var edit = try stack.deleteArtist(1)
    edit.base = [:]
    edit.ownValues = ["name": [.string("new")]]
    for isUnanswered in [true, false] {
      edit.isInsertUnanswered = isUnanswered
      source.add(edit)
      let result = try stack.merge(
        MergeStack.artists([2: "old", 3: "new"]), into: "Artist", options: options(.keepLocal, .replace))
      #expect(result.inserted == (isUnanswered ? 0 : 1) && result.keptEdits == (isUnanswered ? 1 : 0))
    }
  }

  @Test(arguments: Backend.available)
  func `a record to which others of a page link is inserted beside an equal unanswered insert`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    var edit = try stack.deleteArtist(1)
    (edit.base, edit.ownValues, edit.isInsertUnanswered) = ([:], ["name": [.string("new")]], true)
    source.add(edit)
    let page =
      MergeStack.artists([2: "old", 3: "new"])
      + [MergeRecord(["id": 4, "name": "pupil"], links: ["mentor": .one(MergeKey(3))])]
    let result = try stack.merge(page, into: "Artist", options: options(.keepLocal, .replace))
    #expect(result.inserted == 2 && result.keptEdits == 0)
    #expect(try stack.names() == [2: "old", 3: "new", 4: "pupil"])
  }

  // MARK: Properties

  @Test(arguments: Backend.available)
  func `the server's change of a property without an edit is taken beside a pending edit`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    source.add(try stack.renamed(1, from: "old"))
    let page = [MergeRecord(["id": 1, "name": "new", "note": "a note"])]
    let result = try stack.merge(page, into: "Artist")
    #expect(result.counts == MergeResult.with(updated: 1) && result.keptEdits == 1)
    #expect(try stack.names() == [1: "edited"])
    #expect(try notes(stack) == [1: "a note"])
    let again = try stack.merge(page, into: "Artist")
    #expect(again.counts == MergeResult.with(skipped: 1))
  }

  @Test(arguments: Backend.available)
  func `with the policy server, the input wins where both sides changed a property, and there alone`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "edited"])
    source.add(try stack.renamed(1, from: "old"), try stack.renamed(2, from: "old"))
    let result = try stack.merge(MergeStack.artists([1: "new", 2: "old"]), into: "Artist", options: options(.server))
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 0)
    #expect(try stack.names() == [1: "new", 2: "edited"])
    let decision = try #require(source.decisions.first)
    #expect(source.decisions.count == 1 && decision.discarded == ["name"] && !decision.isConflict)
    #expect(decision.serverValues?["name"] == .string("new"))
  }

  @Test(arguments: Backend.available)
  func `with the policy conflict, a property that both sides changed keeps its edit and is a conflict`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "edited"])
    source.add(try stack.renamed(1, from: "old"), try stack.renamed(2, from: "old"))
    let page = [MergeRecord(["id": 1, "name": "new", "note": "a note"]), MergeRecord(["id": 2, "name": "old"])]
    let result = try stack.merge(page, into: "Artist", options: options(.conflict))
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(result.keptEdits == 2 && result.pendingConflicts == 1)
    #expect(try stack.names() == [1: "edited", 2: "edited"])
    let decision = try #require(source.decisions.first)
    #expect(source.decisions.count == 1 && decision.conflicting == ["name"] && decision.isConflict)
    #expect(decision.serverValues == ["id": .int(1), "name": .string("new"), "note": .string("a note")])
  }

  @Test(arguments: Backend.available)
  func `a server with an earlier state of the edit has not changed the property itself`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "two"])
    source.add(
      PendingEdit(
        of: try stack.artistID(1), .update, changed: ["name"], base: ["name": .string("old")],
        ownValues: ["name": [.string("one"), .string("two")]]))
    for policy in [MergeOptions.PendingEditsPolicy.server, .conflict] {
      let result = try stack.merge(MergeStack.artists([1: "one"]), into: "Artist", options: options(policy))
      #expect(result.counts == MergeResult.with(skipped: 1) && result.pendingConflicts == 0, "\(policy)")
      #expect(try stack.names() == [1: "two"], "\(policy)")
    }
    #expect(source.decisions.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `equal changes of both sides are no conflict`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    source.add(try stack.renamed(1, from: "old"))
    let result = try stack.merge(MergeStack.artists([1: "edited"]), into: "Artist", options: options(.conflict))
    #expect(result.counts == MergeResult.with(unchanged: 1) && result.pendingConflicts == 0)
  }

  @Test(arguments: Backend.available)
  func `a merge keeps an edit in flight without a decision, under every policy`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "edited"])
    source.add(
      try stack.renamed(1, from: "old", isBeingSent: true), try stack.renamed(2, from: "old", isBeingSent: true))
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let result = try stack.merge(
        MergeStack.artists([1: "new", 3: "new"]), into: "Artist", options: options(policy, .replace))
      #expect(result.keptEdits == 2 && result.pendingConflicts == 0, "\(policy)")
      #expect(try stack.names() == [1: "edited", 2: "edited", 3: "new"], "\(policy)")
    }
    #expect(source.decisions.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a merge keeps a confirmed edit without a decision, also if its source does not say that it is being sent`(
    backend: Backend
  ) throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let source = ScriptedEdits()
      let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old", 3: "old"])
      var deletion = try stack.deleteArtist(3, base: ["name": .string("old")])
      deletion.isConfirmed = true
      source.add(
        PendingEdit(of: try stack.artistID(1), .update, outdated: ["name": [.string("old")]], isConfirmed: true),
        deletion)
      func merge(_ names: [Int: String]) throws -> MergeResult {
        try stack.merge(MergeStack.artists(names), into: "Artist", options: options(policy, .replace))
      }
      let without = try merge([2: "old", 3: "new"])
      #expect(without.counts == MergeResult.with(unchanged: 1, skipped: 2) && without.keptEdits == 2, "\(policy)")
      let older = try merge([1: "old", 2: "old"])
      #expect(older.keptEdits == 1 && older.updated == 0, "\(policy)")
      #expect(try stack.names() == [1: "edited", 2: "old"], "\(policy)")
      #expect(try merge([1: "newer", 2: "old"]).updated == 1, "\(policy)")
      #expect(try stack.names() == [1: "newer", 2: "old"], "\(policy)")
      #expect(source.decisions.isEmpty, "\(policy)")
    }
  }

  // MARK: Inserts

  @Test(arguments: Backend.available)
  func `a replacing merge keeps a record whose insert is pending, and counts the record as kept`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old", 3: "mine"])
    source.add(PendingEdit(of: try stack.artistID(3), .insert))
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.34)
    let result = try stack.merge(MergeStack.artists([1: "old"]), into: "Artist", options: options)
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1, skipped: 1))
    #expect(result.keptEdits == 1 && result.pendingConflicts == 0)
    #expect(try stack.names() == [1: "old", 3: "mine"])
  }

  @Test(arguments: Backend.available)
  func `one key inserted on both sides becomes an update based on the server's values`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "mine", 2: "both"])
    source.add(
      PendingEdit(of: try stack.artistID(1), .insert), PendingEdit(of: try stack.artistID(2), .insert))
    let result = try stack.merge(MergeStack.artists([1: "theirs", 2: "both"]), into: "Artist")
    #expect(result.counts == MergeResult.with(unchanged: 1, skipped: 1) && result.keptEdits == 1)
    #expect(try stack.names() == [1: "mine", 2: "both"])
    let names = source.decisions.filter(\.becomesUpdate).map { $0.serverValues?["name"] }
    #expect(names.count == 2 && names.contains(.string("theirs")) && names.contains(.string("both")))
  }

  @Test(arguments: Backend.available)
  func `one key inserted on both sides gets the server's values with the policy server`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "mine"])
    source.add(PendingEdit(of: try stack.artistID(1), .insert))
    let result = try stack.merge(MergeStack.artists([1: "theirs"]), into: "Artist", options: options(.server))
    #expect(result.counts == MergeResult.with(updated: 1) && result.keptEdits == 0)
    #expect(try stack.names() == [1: "theirs"])
    #expect(source.decisions.map(\.discarded) == [["name"]] && source.decisions.allSatisfy(\.becomesUpdate))
  }

  @Test(arguments: Backend.available)
  func `a record deleted and inserted again with its key keeps its values`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old"])
    source.add(try stack.deleteArtist(1))
    stack.connect.pendingEdits = nil
    try stack.merge(MergeStack.artists([1: "again"]), into: "Artist")
    stack.connect.pendingEdits = source
    source.add(PendingEdit(of: try stack.artistID(1), .insert))
    let result = try stack.merge(MergeStack.artists([1: "new"]), into: "Artist", options: options(.server, .replace))
    #expect(result.counts == MergeResult.with(skipped: 1) && result.keptEdits == 1)
    #expect(try stack.names() == [1: "again"])
    #expect(source.decisions.isEmpty)
  }

  // MARK: Deletions

  @Test(arguments: Backend.available)
  func `with the policy server, the server's deletion wins over a pending update`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old"])
    source.add(try stack.renamed(1, from: "old"))
    let result = try stack.merge(
      MergeStack.artists([2: "old"]), into: "Artist", options: options(.server, .replace))
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1) && result.keptEdits == 0)
    #expect(source.decisions.map(\.discarded) == [["name"]] && source.decisions.allSatisfy { $0.serverValues == nil })
    #expect(try stack.names() == [2: "old"])
  }

  @Test(arguments: Backend.available)
  func `a deletion by the server ends the conflict of a pending update only if the server wins`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "edited", 3: "old"])
    var disputed = try stack.renamed(1, from: "old")
    disputed.conflict = PendingConflict(names: ["name"], serverValues: ["name": .string("new")])
    source.add(disputed, try stack.renamed(2, from: "old"))
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .conflict, .server] {
      let result = try stack.merge(
        MergeStack.artists([3: "old"]), into: "Artist", options: options(policy, .replace))
      let isDeleted = policy == .server
      #expect(result.deleted == (isDeleted ? 2 : 0) && result.keptEdits == (isDeleted ? 0 : 2), "\(policy)")
      #expect(source.decisions.count == 2 && source.decisions.allSatisfy { $0.isConflict != isDeleted }, "\(policy)")
      let ended = source.decisions.filter(\.endsConflict).map(\.edit.recordID)
      #expect(ended == (isDeleted ? [disputed.recordID] : []), "\(policy)")
    }
  }

  @Test(arguments: Backend.available)
  func `a record deleted on both sides stays deleted without a decision`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    source.add(try stack.deleteArtist(1))
    let result = try stack.merge(
      MergeStack.artists([2: "old"]), into: "Artist", options: options(.conflict, .replace))
    #expect(result.counts == MergeResult.with(unchanged: 1) && result.keptEdits == 0)
    #expect(source.decisions.isEmpty)
    #expect(try stack.names() == [2: "old"])
  }

  @Test(arguments: Backend.available)
  func `a pending deletion is a conflict only if the server has changed the record, with the policy conflict`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    source.add(
      try stack.deleteArtist(1, base: ["name": .string("old")]),
      try stack.deleteArtist(2, base: ["name": .string("old")])
    )
    let page = MergeStack.artists([1: "old", 2: "new"])
    #expect(try stack.merge(page, into: "Artist", options: options(.keepLocal)).pendingConflicts == 0)
    let result = try stack.merge(page, into: "Artist", options: options(.conflict))
    #expect(result.counts == MergeResult.with(skipped: 2))
    #expect(result.keptEdits == 2 && result.pendingConflicts == 1)
    #expect(source.decisions.map(\.conflicting) == [["name"]])
    #expect(try stack.names().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `own values, server-assigned values and values without a base are no change of a deleted record`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old", 3: "old"])
    var own = try stack.deleteArtist(1, base: ["name": .string("older")])
    own.ownValues = ["name": [.string("old")]]
    var assigned = try stack.deleteArtist(2, base: ["name": .string("older")])
    assigned.serverAssigned = ["name"]
    source.add(own, assigned, try stack.deleteArtist(3))
    let page = MergeStack.artists([1: "old", 2: "old", 3: "old"])
    let result = try stack.merge(page, into: "Artist", options: options(.conflict))
    #expect(result.keptEdits == 3 && result.pendingConflicts == 0)
    #expect(source.decisions.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `an unanswered insert keeps out one record with its values, unless the page has its own record`(
    backend: Backend
  ) throws {
    func inserted(_ page: [Int: String], isUnanswered: Bool = true) throws -> Int {
      let source = ScriptedEdits()
      let stack = try MergeStack.pending(backend, source, names: [1: "mine"])
      var insert = PendingEdit(of: try stack.artistID(1), .insert)
      insert.isInsertUnanswered = isUnanswered
      source.add(insert)
      return try stack.merge(MergeStack.artists(page), into: "Artist", options: options(.keepLocal, .replace)).inserted
    }
    #expect(try inserted([7: "mine"]) == 0)
    #expect(try inserted([7: "mine"], isUnanswered: false) == 1)
    #expect(try inserted([7: "mine", 8: "mine"]) == 1)
    #expect(try inserted([7: "others"]) == 1)
    #expect(try inserted([1: "mine", 7: "mine"]) == 1)
  }
}
