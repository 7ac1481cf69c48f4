import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// Another context saves an edit while a merge is between its plan and its save.
@Suite("Races of merges and pending edits")
struct PendingRacesTests {
  private let source = ScriptedEdits()

  @Test(arguments: Backend.available)
  func `a merge keeps an edit that another context saves during the merge, under every merge policy`(
    backend: Backend
  ) throws {
    for (name, policy) in [
      ("object", MergePolicy.objectTrumps), ("overwrite", .overwrite), ("store", .storeTrumps), ("error", .error),
      ("rollback", .rollback),
    ] {
      let source = ScriptedEdits()
      let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
      let edit = try stack.renamed(1, from: "old")
      try stack.interfere { stranger in
        try stranger.artist(1)?.setValue("edited", for: "name")
        source.add(edit)
      }
      let context = stack.connect.newActionContext()
      context.mergePolicy = policy
      let result = try context.merge(
        records: MergeStack.artists([1: "new", 2: "new"]), for: try stack.entity("Artist"))
      #expect(result.counts == MergeResult.with(updated: 1, skipped: 1), "\(name)")
      #expect(result.keptEdits == 1, "\(name)")
      #expect(try stack.names() == [1: "edited", 2: "new"], "\(name)")
    }
  }

  @Test(arguments: Backend.available)
  func `a merge in a context with unsaved changes skips a record that another context edits during the merge`(
    backend: Backend
  ) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    try stack.interfere { try $0.artist(1)?.setValue("edited", for: "name") }
    let context = stack.connect.newActionContext()
    let result = try context.performAndWait {
      try context.insertNewObject(forEntityName: "Genre").setValue("soul", for: "name")
      return try context.merge(
        records: MergeStack.artists([1: "new", 2: "new"]), for: try stack.entity("Artist"))
    }
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(try stack.names() == [1: "edited", 2: "new"])
  }

  @Test(arguments: Backend.available)
  func `a merge does not restore a record that another context deletes during the merge`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    let deletion = PendingEdit(of: try stack.artistID(1), .delete, base: ["id": .int(1)])
    let source = source
    try stack.interfere { stranger in
      if let artist = try stranger.artist(1) { stranger.delete(artist) }
      source.add(deletion)
    }
    let result = try stack.merge(MergeStack.artists([1: "new", 2: "new"]), into: "Artist", options: MergeOptions())
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1) && result.keptEdits == 1)
    #expect(try stack.names() == [2: "new"])
  }

  @Test(arguments: Backend.available)
  func `a merge does not overwrite a record that another context inserts during the merge`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [2: "old"])
    let source = source
    try stack.interfere { stranger in
      let artist = try stranger.insertNewObject(forEntityName: "Artist")
      try artist.setValue(Int32(1), for: "id")
      try artist.setValue("mine", for: "name")
      try stranger.obtainPermanentIDs(for: [artist])
      source.add(PendingEdit(of: artist.objectID, .insert))
    }
    let result = try stack.merge(
      MergeStack.artists([1: "theirs", 2: "new"]), into: "Artist", options: MergeOptions())
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1) && result.keptEdits == 1)
    #expect(try stack.names() == [1: "mine", 2: "new"])
    #expect(source.decisions.count == 1 && source.decisions.allSatisfy(\.becomesUpdate))
  }

  // MARK: Pages

  @Test(arguments: Backend.available)
  func `a paged merge keeps pending inserts, updates and deletions`(backend: Backend) async throws {
    let stack = try MergeStack.pending(
      backend, source, names: [1: "edited", 2: "old", 3: "mine", 4: "old", 5: "old"])
    source.add(
      try stack.renamed(1, from: "old"), PendingEdit(of: try stack.artistID(3), .insert), try stack.deleteArtist(4))
    let pages = AsyncStream<[MergeRecord]> { continuation in
      continuation.yield(MergeStack.artists([2: "new"]))
      continuation.yield(MergeStack.artists([4: "new"]))
      continuation.finish()
    }
    let result = try await stack.connect.newActionContext().mergePages(
      pages, for: try stack.entity("Artist"), options: MergeOptions(mode: .replace))
    #expect(result.counts == MergeResult.with(updated: 1, deleted: 1, skipped: 3))
    #expect(result.keptEdits == 3 && result.pendingConflicts == 1)
    #expect(try stack.names() == [1: "edited", 2: "new", 3: "mine"])
  }

  @Test(arguments: Backend.available)
  func `of all pages of a replacing merge, a record with the values of an unanswered insert is left out`(
    backend: Backend
  ) async throws {
    for mode in [MergeOptions.Mode.replace, .upsertOnly] {
      let source = ScriptedEdits()
      let stack = try MergeStack.pending(backend, source, names: [1: "mine", 2: "old"])
      var insert = PendingEdit(of: try stack.artistID(1), .insert)
      insert.isInsertUnanswered = true
      source.add(insert)
      let (pages, continuation) = AsyncStream.makeStream(of: [MergeRecord].self)
      continuation.yield(MergeStack.artists([2: "old"]))
      continuation.yield(MergeStack.artists([7: "mine"]))
      continuation.finish()
      let result = try await stack.connect.newActionContext().mergePages(
        pages, for: try stack.entity("Artist"), options: MergeOptions(mode: mode, maximumDeletedShare: 1))
      // Partial pages might never bring the record again.
      #expect(result.inserted == (mode == .replace ? 0 : 1))
      #expect(try stack.names().keys.sorted() == (mode == .replace ? [1, 2] : [1, 2, 7]))
    }
  }

  // MARK: The source

  @Test(arguments: Backend.available)
  func `the changes of a source are saved with the merge, and its error leaves the stores unchanged`(
    backend: Backend
  ) throws {
    for fails in [false, true] {
      let source = ScriptedEdits { context in
        try context.insertNewObject(forEntityName: "Genre").setValue("noted", for: "name")
        if fails { throw MockError() }
      }
      let stack = try MergeStack.pending(backend, source, names: [1: "edited", 2: "old"])
      source.add(try stack.renamed(1, from: "old"))
      let context = stack.connect.newActionContext()
      func merge() throws {
        try context.merge(
          records: MergeStack.artists([1: "new", 2: "new"]), for: try stack.entity("Artist"),
          options: MergeOptions(pendingEdits: .conflict))
      }
      if fails { #expect(throws: MockError.self) { try merge() } } else { try merge() }
      #expect(try stack.names() == [1: "edited", 2: fails ? "old" : "new"])
      #expect(try stack.versions(of: "Genre").count == (fails ? 0 : 1))
      #expect(!context.performAndWait { context.hasChanges })
    }
  }

  @Test func `a merge asks its source once before the reading, and once for all records that differ`() throws {
    let stack = try MergeStack.pending(.inMemory, source)
    let names = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, "old") })
    try stack.merge(MergeStack.artists(names), into: "Artist")
    #expect(source.queries.map(\.selection) == [.insertsAndDeletions])
    try stack.merge(MergeStack.artists(names.mapValues { _ in "new" }), into: "Artist")
    let artist = try stack.entity("Artist")
    #expect(source.queries.count == 3 && source.queries.last?.entity == artist)
    if case .records(let ids)? = source.queries.last?.selection { #expect(ids.count == 1_000) }
    try stack.merge([MergeRecord(["name": "jazz"])], into: "Genre")
    #expect(source.queries.count == 3)
  }

  @MainActor
  @Test(arguments: Backend.available)
  func `pending edits and unsaved edits of the view win together`(backend: Backend) throws {
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    source.add(try stack.renamed(1, from: "old"))
    let view = stack.connect.viewContext
    let shown = try #require(try view.artist(1))
    try shown.setValue("draft", for: "note")
    let page = [MergeRecord(["id": 1, "name": "new", "note": "theirs"])]
    let result = try stack.merge(page, into: "Artist", options: MergeOptions(conflictResolution: .localWins))
    #expect(result.counts == MergeResult.with(skipped: 1) && result.keptEdits == 1)
    try view.save()
    #expect(try stack.names() == [1: "edited"])
    #expect(try stack.values(of: "Artist", "note", by: "id") == [1: "draft"] as [Int32: String?])
  }
}
