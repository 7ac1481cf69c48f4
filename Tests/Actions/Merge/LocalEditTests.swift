import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Synchronization
import TestSupport
import Testing

/// Edits of the view and of other writers, under merges with the option `localWins`.
@Suite("Merges in which local edits win")
struct LocalEditTests {
  private static let localWins = MergeOptions(conflictResolution: .localWins)
  private static let replacing = MergeOptions(
    mode: .replace, maximumDeletedShare: 1, conflictResolution: .localWins)

  private func album(_ number: Int, _ title: String, _ genres: [MergeKey]) -> MergeRecord {
    MergeRecord(["label": "L", "number": number, "title": title], links: ["genres": .many(genres)])
  }

  /// A stack with three genres, and an album with the genre "rock".
  private func albumStack(_ backend: Backend) throws -> MergeStack {
    let stack = try MergeStack(backend)
    try stack.merge(["jazz", "rock", "soul"].map { MergeRecord(["name": $0]) }, into: "Genre")
    try stack.merge([album(1, "old", ["rock"])], into: "Album")
    return stack
  }

  /// The titles and genres of the albums by number.
  private func albums(_ stack: MergeStack) throws -> [Int: [String]] {
    try stack.read { context in
      Dictionary(
        try stack.objects("Album", context).map { album in
          let genres = try album.objects(for: "genres").map { try $0.value(for: "name", as: String.self) }
          let title = try album.value(for: "title", as: String.self)
          return (try album.value(for: "number", as: Int.self), [title] + genres.sorted())
        }, uniquingKeysWith: { first, _ in first })
    }
  }

  private static func genre(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject? {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Genre")).first {
      try $0.value(for: "name", as: String.self) == name
    }
  }

  // MARK: The view

  @MainActor
  @Test(arguments: Backend.available)
  func `a record with an unsaved edit in the view is not deleted, and one with an unsaved deletion is`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "a", 2: "b", 3: "c", 4: "d"]), into: "Artist")
    let view = stack.connect.viewContext
    try view.artist(2)?.setValue("draft", for: "note")
    view.delete(try #require(try view.artist(3)))
    let result = try stack.merge(MergeStack.artists([1: "a"]), into: "Artist", options: Self.replacing)
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 2, skipped: 1))
    #expect(try stack.names() == [1: "a", 2: "b"])
  }

  @MainActor
  @Test(arguments: Backend.available)
  func `a record with an unsaved edit in the view is not deleted after the last page`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "a", 2: "b", 3: "c"]), into: "Artist")
    let view = stack.connect.viewContext
    try view.artist(2)?.setValue("draft", for: "note")
    let (pages, continuation) = AsyncStream.makeStream(of: [MergeRecord].self)
    continuation.yield(MergeStack.artists([1: "a"]))
    continuation.finish()
    let result = try await stack.connect.newActionContext().mergePages(
      pages, for: try stack.entity("Artist"), options: Self.replacing)
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1, skipped: 1))
    #expect(try stack.names() == [1: "a", 2: "b"])
  }

  @MainActor
  @Test(arguments: Backend.available)
  func `members with an unsaved edit in the view are kept beside other values of the input`(backend: Backend) throws {
    let stack = try albumStack(backend)
    let view = stack.connect.viewContext
    let shown = try #require(try stack.objects("Album", view).first)
    try shown.setObjects([try #require(try Self.genre("soul", in: view))], for: "genres")
    let result = try stack.merge([album(1, "new", ["jazz"])], into: "Album", options: Self.localWins)
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try albums(stack) == [1: ["new", "rock"]])
    try view.save()
    #expect(try albums(stack) == [1: ["new", "soul"]])
  }

  // MARK: Other writers

  @Test(arguments: Backend.available)
  func `members that another writer changes before a merge is planned again are kept`(backend: Backend) throws {
    let stack = try albumStack(backend)
    try stack.interfere { stranger in
      let album = try #require(try stranger.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
      try album.setValue("theirs", for: "title")
      try album.setObjects([try #require(try Self.genre("soul", in: stranger))], for: "genres")
      // The key of the second input record is taken, so that the merge is planned again.
      let taken = try stranger.insertNewObject(forEntityName: "Album")
      try taken.setValue("L", for: "label")
      try taken.setValue(2, for: "number")
      try taken.setValue("taken", for: "title")
    }
    let page = [album(1, "new", ["jazz"]), album(2, "new", ["jazz"])]
    let result = try stack.merge(page, into: "Album", options: Self.localWins)
    #expect(result.counts == MergeResult.with(skipped: 2))
    #expect(try albums(stack) == [1: ["theirs", "soul"], 2: ["taken"]])
  }

  @Test(arguments: Backend.available)
  func `an edit during the first of several plans wins in the last plan too`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "old"]), into: "Artist")
    let races = Atomic<Int>(0)
    try stack.interfere(times: 2) { stranger in
      let number = races.add(1, ordering: .relaxed).newValue
      if number == 1 { try stranger.artist(1)?.setValue("theirs", for: "name") }
      let taken = try stranger.insertNewObject(forEntityName: "Artist")
      try taken.setValue(Int32(4 + number), for: "id")
      try taken.setValue("theirs", for: "name")
    }
    let page = MergeStack.artists([1: "new", 5: "new", 6: "new"])
    let result = try stack.merge(page, into: "Artist", options: Self.localWins)
    let count = races.load(ordering: .relaxed)
    #expect(count == 2)
    #expect(result.counts == MergeResult.with(skipped: 3))
    #expect(try stack.names() == [1: "theirs", 5: "theirs", 6: "theirs"])
  }

  @Test(arguments: Backend.available)
  func `a record that another writer puts in the place of a planned record keeps every value`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge([MergeRecord(["id": 1, "name": "old", "height": 1.5])], into: "Artist")
    try stack.interfere { stranger in
      stranger.delete(try #require(try stranger.artist(1)))
      try stranger.save()
      for id in [Int32(1), 5] {
        let artist = try stranger.insertNewObject(forEntityName: "Artist")
        try artist.setValue(id, for: "id")
        try artist.setValue("theirs", for: "name")
        try artist.setValue(1.5, for: "height")
      }
    }
    // The height of the new record equals that of the former record.
    let page = [1, 5].map { MergeRecord(["id": $0, "name": "new", "height": 2.5]) }
    let result = try stack.merge(page, into: "Artist", options: Self.localWins)
    #expect(result.counts == MergeResult.with(skipped: 2))
    #expect(try stack.names() == [1: "theirs", 5: "theirs"])
    #expect(try stack.values(of: "Artist", "height", by: "id", as: (Int32, Double).self) == [1: 1.5, 5: 1.5])
  }

  @Test(arguments: Backend.available)
  func `after a merge the context resolves conflicts by its own policy again, also after an error`(
    backend: Backend
  ) throws {
    for fails in [false, true] {
      let stack = try MergeStack(backend)
      try stack.merge(MergeStack.artists([1: "old", 2: "old"]), into: "Artist")
      let context = stack.connect.newActionContext()
      try context.performAndWait {
        let page = [
          MergeRecord(["id": 1, "name": "new"]), MergeRecord(["id": 3, "name": fails ? String?.none : "new"]),
        ]
        do {
          try context.merge(records: page, for: try stack.entity("Artist"), options: Self.localWins)
        } catch ErrorCode.validationFailed {
          #expect(fails)
        }
        let observes = context.mergePolicy.observer != nil || context.mergePolicy.allows != nil
        #expect(!observes)
        try stack.interfere { try $0.artist(2)?.setValue("theirs", for: "name") }
        try context.artist(2)?.setValue("mine", for: "name")
        try context.save()
      }
      #expect(try stack.names()[2] == "mine")
      #expect(try stack.names()[1] == (fails ? "old" : "new"))
    }
  }
}
