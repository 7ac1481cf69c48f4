import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// The faults of the merge in Coherence 5. Each test is named after the fault and checks that it is fixed.
@Suite("Faults of merging")
struct MergeWeaknessTests {
  private func artists(_ ids: some Sequence<Int>, _ name: String) -> [MergeRecord] {
    ids.map { MergeRecord(["id": $0, "name": "\(name) \($0)"]) }
  }

  // MARK: Keys

  @Test(arguments: Backend.available)
  func `fault: a merge deletes and inserts a record again when the store orders keys differently`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    let words = ["a", "B", "Z", "z", "ä", "_", "10", "9", "", "ß", "😀"].map { MergeRecord(["name": $0]) }
    try stack.merge(words, into: "Genre")
    let before = try stack.versions(of: "Genre")
    for _ in 0..<5 {
      #expect(
        try stack.merge(words.shuffled(), into: "Genre").counts == MergeResult.with(unchanged: words.count))
    }
    #expect(try stack.versions(of: "Genre") == before)
  }

  @Test(arguments: Backend.available)
  func `fault: a merge inserts two records for input with the same key`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let twice = artists([1], "first") + artists([1], "second")
    #expect { try stack.merge(twice, into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    #expect(try stack.merge(twice, into: "Artist", options: MergeOptions(duplicates: .lastWins)).inserted == 1)
    #expect(try stack.names() == [1: "second 1"])
  }

  @Test(arguments: Backend.available)
  func `fault: a merge silently deletes stored records with the same key`(backend: Backend) throws {
    let stack = try MergeStack(backend, allowsDuplicateKeys: true)
    let context = stack.connect.newBackgroundContext()
    try context.performAndWait {
      for name in ["older", "younger"] {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(Int32(1), for: "id")
        try artist.setValue(name, for: "name")
        try context.save()
      }
    }
    #expect { try stack.merge(artists([1], "new"), into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    #expect(try stack.versions(of: "Artist").count == 2)
  }

  @Test(arguments: Backend.available)
  func `fault: a merge takes all records without a key for the same record`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let context = stack.connect.newBackgroundContext()
    try context.performAndWait {
      try context.insertNewObject(forEntityName: "Artist").setValue("made here", for: "name")
      try context.save()
    }
    let nameless = [MergeRecord(["name": "one"]), MergeRecord(["name": "two"])]
    #expect { try stack.merge(nameless, into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    #expect(
      try stack.merge(nameless, into: "Artist", options: MergeOptions(missingKeys: .skip)).counts
        == MergeResult.with(skipped: 2))
    #expect(try stack.versions(of: "Artist").count == 1)
  }

  @Test(arguments: Backend.available)
  func `fault: a merge inserts a second record for a key outside of its filter`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists([1], "theirs"), into: "Artist")
    let mine = FetchPredicate.comparison(.path(PropertyPath("name")), .beginsWith, .value(.string("mine")))
    let result = try stack.merge(artists([1], "mine"), into: "Artist", within: mine)
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try stack.versions(of: "Artist").count == 1)
  }

  // MARK: Deleting

  @Test func `fault: merging a parent deletes the records of its children`() throws {
    let stack = try MergeStack(.inMemory, try HierarchyModel.make())
    try stack.merge([MergeRecord(["id": 1])], into: "Child")
    #expect(try stack.merge([MergeRecord(["id": 2])], into: "Parent").counts == MergeResult.with(inserted: 1))
    #expect(try stack.versions(of: "Parent").count == 2)
    let all = MergeOptions(mode: .replace, includesSubentities: true)
    #expect(try stack.merge([MergeRecord(["id": 2])], into: "Parent", options: all).deleted == 1)
  }

  @Test(arguments: Backend.available)
  func `fault: a merge of half the records deletes the other half`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...4, "old"), into: "Artist")
    let result = try stack.merge(artists(1...2, "new"), into: "Artist", options: MergeOptions(mode: .upsertOnly))
    #expect(result.counts == MergeResult.with(updated: 2))
    #expect(try stack.names().count == 4)
  }

  // MARK: Writing

  @Test(arguments: Backend.available)
  func `fault: a merge loads and writes unchanged records`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...500, "old"), into: "Artist")
    let before = try stack.versions(of: "Artist")
    let counter = ObjectCounter()
    let result = try MergedArtist.$counter.withValue(counter) {
      try stack.merge(artists(1...499, "old") + artists(500...500, "new"), into: "Artist")
    }
    #expect(result.counts == MergeResult.with(updated: 1, unchanged: 499))
    #expect(counter.count == 1)
    #expect(try stack.versions(of: "Artist").count { before[$0.key] != $0.value } == 1)
  }

  @Test(arguments: Backend.available)
  func `fault: a merge continues after its action was cancelled`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    let entity = try stack.entity("Artist")
    let handle = try stack.connect.execute(
      ClosureAction(MergedArtist.self) { [artists] context in
        AnyActionHandle.current?.cancel()
        try context.merge(records: artists, for: entity)
      })
    try await handle.waitUntilFinished()
    #expect(handle.error.map { ErrorCode.cancelled ~= $0 } == true)
    #expect(try stack.names().isEmpty)
  }

  private var artists: [MergeRecord] { artists(1...10, "new") }

  @Test(arguments: Backend.available)
  func `fault: a merge ignores relationships`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let pupil = MergeRecord(["id": 2, "name": "Grace", "mentor": 1])
    #expect(try stack.merge([pupil, MergeRecord(["id": 1, "name": "Ada"])], into: "Artist").inserted == 2)
    try stack.read { context in
      let mentors = try stack.objects("Artist", context).compactMap { try $0.object(for: "mentor") }
      #expect(try mentors.map { try $0.value(for: "name", as: String.self) } == ["Ada"])
    }
  }

  // MARK: Others

  @Test(arguments: Backend.available)
  func `fault: a merge silently overwrites concurrent changes`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...2, "old"), into: "Artist")
    let other = stack.connect.newBackgroundContext()
    let interfere = Once {
      try? other.performAndWait {
        for artist in try stack.objects("Artist", other) { try artist.setValue("theirs", for: "note") }
        try other.save()
      }
    }
    var page = artists(1...2, "new")
    page[1].values["note"] = ProbedText(text: "ours", probe: { interfere() })
    #expect(try stack.merge(page, into: "Artist").conflicts == 2)
    #expect(try stack.names() == [1: "new 1", 2: "new 2"])
    #expect(try stack.values(of: "Artist", "note", by: "id") == [1: "theirs", 2: "ours"] as [Int32: String])
  }

  @Test(arguments: Backend.available)
  func `fault: a merge overwrites unsaved edits of the view`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...1, "old"), into: "Artist")
    try await MainActor.run {
      let view = stack.connect.viewContext
      let shown = try #require(try stack.objects("Artist", view).first)
      try shown.setValue("edited", for: "name")
      try shown.setValue("mine", for: "note")
      #expect(try stack.merge(artists(1...1, "new"), into: "Artist").updated == 1)
      view.performAndWait {}
      #expect(try shown.value(for: "name", as: String.self) == "edited" && view.hasChanges)
      #expect(try stack.names() == [1: "new 1"])
      // The edits do not overwrite the merge either, unless the options say so.
      #expect { try view.save() } throws: { ErrorCode.versionConflict ~= $0 }
      view.mergePolicy = .objectTrumps
      try view.save()
    }
    #expect(try stack.names() == [1: "edited"])
  }

  @Test func `fault: a merge accepts objects that belong to a context`() throws {
    let stack = try MergeStack(.inMemory)
    let context = stack.connect.newActionContext()
    try context.performAndWait {
      let artist = try context.insertNewObject(forEntityName: "Artist")
      #expect { try context.merge(objects: [artist], for: stack.entity("Artist")) } throws: {
        ErrorCode.wrongContext ~= $0
      }
      #expect(context.insertedObjects == [artist])
    }
  }

  @Test(arguments: Backend.available)
  func `fault: a failed merge leaves changes in the context`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...2, "old"), into: "Artist")
    let context = stack.connect.newActionContext()
    var page = artists(1...3, "new")
    page[2].values["name"] = "\u{0}"
    #expect(throws: CoherenceError.self) { try context.merge(records: page, for: stack.entity("Artist")) }
    #expect(context.performAndWait { !context.hasChanges })
    #expect(try stack.names() == [1: "old 1", 2: "old 2"])
  }

  @Test(arguments: Backend.available)
  func `fault: a merge cannot be left unsaved`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let context = stack.connect.newActionContext()
    let later = MergeOptions(saves: false)
    try context.merge(records: artists(1...1, "new"), for: stack.entity("Artist"), options: later)
    #expect(try stack.names().isEmpty)
    try context.performAndWait { try context.save() }
    #expect(try stack.names() == [1: "new 1"])
  }
}
