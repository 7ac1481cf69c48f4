import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Synchronization
import Testing
import TestSupport

/// Another program changes the store between the plan and the save of a merge.
@Suite("Merges under races", .timeLimit(.minutes(15)))
struct MergeRaceTests {
  private func page(_ revisions: [Int: Int]) -> [MergeRecord] {
    revisions.sorted { $0.key < $1.key }.map { MergeRecord(["id": $0, "name": "\($0).\($1)", "revision": $1]) }
  }

  private func genres(_ ranks: [String: Int]) -> [MergeRecord] {
    ranks.sorted { $0.key < $1.key }.map { MergeRecord(["name": $0, "rank": $1]) }
  }

  /// Lets another program insert a genre during the next saves.
  private func insertJazz(_ stack: MergeStack) throws {
    try stack.interfere { stranger in
      let genre = try stranger.insertNewObject(forEntityName: "Genre")
      try genre.setValue("jazz", for: "name")
      try genre.setValue(1, for: "rank")
    }
  }

  /// Lets another program give the first artist a name and a later revision during the next saves.
  private func reviseArtist(_ stack: MergeStack, note: String? = nil) throws {
    try stack.interfere { stranger in
      let artist = try stranger.artist(1)
      try artist?.setValue(Int64(9), for: "revision")
      try artist?.setValue("theirs", for: "name")
      if let note { try artist?.setValue(note, for: "note") }
    }
  }

  private func ranks(_ stack: MergeStack) throws -> [String: Int] { try stack.values(of: "Genre", "rank", by: "name") }

  // MARK: Keys

  @Test(arguments: Backend.available)
  func `a merge updates the record that another writer inserts with its key before the commit`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try insertJazz(stack)
    let result = try stack.merge(genres(["jazz": 5, "rock": 6]), into: "Genre", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1))
    #expect(try ranks(stack) == ["jazz": 5, "rock": 6])
  }

  @Test(arguments: Backend.available)
  func `a merge of objects succeeds when another writer inserts one of their keys before the commit`(backend: Backend)
    throws
  {
    let stack = try MergeStack(backend)
    try insertJazz(stack)
    let entity = try stack.entity("Genre")
    let objects = try ["jazz", "rock"].map { name in
      let object = ManagedObject(entity: entity, insertInto: nil)
      try object.setValue(name, for: "name")
      try object.setValue(7, for: "rank")
      return object
    }
    let result = try stack.connect.newActionContext().merge(objects: objects, for: entity, options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1))
    #expect(try ranks(stack) == ["jazz": 7, "rock": 7])
  }

  @Test(arguments: Backend.available)
  func `a record with a key that another writer changes does not get the values of its former key`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    try stack.interfere { try $0.artist(1)?.setValue(Int32(7), for: "id") }
    let result = try stack.merge(page([1: 2, 2: 2]), into: "Artist", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1))
    #expect(try stack.names() == [1: "1.2", 2: "2.2", 7: "1.1"])
  }

  @Test(arguments: Backend.available)
  func `a record that another writer changes during a merge gets every value of the input`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    // The input has the former revision, so that the first plan does not write the revision.
    try reviseArtist(stack, note: "theirs")
    let input = [MergeRecord(["id": 1, "name": "ours", "revision": 1])]
    let result = try stack.merge(input, into: "Artist", options: MergeOptions())
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try stack.names() == [1: "ours", 2: "2.1"])
    #expect(try stack.values(of: "Artist", "revision", by: "id", as: (Int32, Int64).self) == [1: 1, 2: 1])
    let notes: [Int32: String?] = try stack.values(of: "Artist", "note", by: "id")
    #expect(notes[1] == "theirs")
  }

  @Test(arguments: Backend.available)
  func `a record that another writer changes during a merge gets every link of the input`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1, 3: 1]), into: "Artist")
    try stack.merge([MergeRecord(["id": 1, "mentor": 2])], into: "Artist", options: MergeOptions())
    try stack.interfere { stranger in
      try stranger.artist(1)?.setValue("theirs", for: "name")
      try stranger.artist(1)?.setObject(stranger.artist(3), for: "mentor")
    }
    let input = [MergeRecord(["id": 1, "name": "ours", "mentor": 2])]
    try stack.merge(input, into: "Artist", options: MergeOptions())
    #expect(try stack.names()[1] == "ours")
    let mentor = try stack.read { context in
      try context.artist(1)?.object(for: "mentor")?.value(for: "id", as: Int32?.self)
    }
    #expect(mentor == 2)
  }

  // MARK: Conditions

  @Test(arguments: Backend.available)
  func `a record that the condition protects at the time of the save is not overwritten`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    try reviseArtist(stack)
    let isNewer = try FetchPredicate(format: "existing.revision < incoming.revision")
    let result = try stack.merge(page([1: 2, 2: 2]), into: "Artist", if: isNewer, options: MergeOptions())
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(try stack.names() == [1: "theirs", 2: "2.2"])
  }

  @Test(arguments: Backend.available)
  func `a record that leaves the filter before the save is not deleted`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    try stack.interfere { try $0.artist(1)?.setValue(Int64(2), for: "revision") }
    let result = try stack.merge(
      page([3: 3]), into: "Artist", within: try FetchPredicate(format: "revision == 1"), options: .replaceAll)
    #expect(result.counts == MergeResult.with(inserted: 1, deleted: 1))
    #expect(try stack.names() == [1: "1.1", 3: "3.3"])
  }

  @Test(arguments: Backend.available)
  func `a paged merge does not delete a record that the condition protects at the time of the save`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1, 3: 3]), into: "Artist")
    try stack.interfere { try $0.artist(1)?.setValue(Int64(2), for: "revision") }
    let pages = AsyncStream<[MergeRecord]> { continuation in
      continuation.yield(page([3: 3]))
      continuation.finish()
    }
    let result = try await stack.connect.newActionContext().mergePages(
      pages, for: try stack.entity("Artist"), condition: try FetchPredicate(format: "revision == 1"),
      options: MergeOptions(mode: .replace))
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1, skipped: 1))
    #expect(try stack.names() == [1: "1.1", 3: "3.3"])
  }

  @Test(arguments: Backend.available)
  func `beside other changes, a merge leaves out a record that the condition protects at the time of the save`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    try reviseArtist(stack)
    let context = stack.connect.newActionContext()
    let result = try context.performAndWait {
      try context.insertNewObject(forEntityName: "Genre").setValue("soul", for: "name")
      return try context.merge(
        records: page([1: 2, 2: 2]), for: stack.entity("Artist"),
        condition: try FetchPredicate(format: "existing.revision < incoming.revision"))
    }
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(try stack.names() == [1: "theirs", 2: "2.2"])
    #expect(try ranks(stack) == ["soul": 0])
  }

  // MARK: Plans

  @Test(arguments: Backend.available)
  func `a merge that lost every earlier race succeeds while other writers are kept out`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    let edits = Atomic<Int>(0)
    try stack.interfere(times: 3) { stranger in
      let number = edits.add(1, ordering: .relaxed).newValue
      try stranger.artist(1)?.setValue("edit \(number)", for: "note")
    }
    let context = stack.connect.newActionContext()
    context.mergePolicy = .error
    let result = try context.merge(records: page([1: 2, 2: 2, 3: 2]), for: stack.entity("Artist"))
    #expect(edits.load(ordering: .relaxed) == 3)
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 2))
    #expect(try stack.names() == [1: "1.2", 2: "2.2", 3: "3.2"])
    let notes: [Int32: String?] = try stack.values(of: "Artist", "note", by: "id")
    #expect(notes[1] == "edit 3")
  }

  // MARK: Local edits

  private static let localWins = MergeOptions(conflictResolution: .localWins)

  @Test(arguments: Backend.available)
  func `with localWins, an edit that another writer saves during a merge wins, for each property`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1]), into: "Artist")
    try stack.interfere { try $0.artist(1)?.setValue("theirs", for: "name") }
    let result = try stack.merge(page([1: 2, 2: 2]), into: "Artist", options: Self.localWins)
    #expect(result.counts == MergeResult.with(updated: 2) && result.conflicts == 1)
    var sum = result
    sum += result
    #expect(sum.counts == MergeResult.with(updated: 4) && sum.conflicts == 2)
    #expect(try stack.names() == [1: "theirs", 2: "2.2"])
    #expect(try stack.values(of: "Artist", "revision", by: "id") == [1: 2, 2: 2] as [Int32: Int64])
  }

  @Test(arguments: Backend.available)
  func `with localWins, an edit of a value that was equal to the input wins too`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1]), into: "Artist")
    try stack.interfere { try $0.artist(1)?.setValue("theirs", for: "name") }
    let input = [MergeRecord(["id": 1, "name": "1.1", "revision": 2])]
    let result = try stack.merge(input, into: "Artist", options: Self.localWins)
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try stack.names() == [1: "theirs"])
    #expect(try stack.values(of: "Artist", "revision", by: "id") == [1: 2] as [Int32: Int64])
  }

  @Test(arguments: Backend.available)
  func `with localWins, a record that another writer edits during a merge is not deleted`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1, 3: 1]), into: "Artist")
    try stack.interfere { try $0.artist(1)?.setValue("theirs", for: "name") }
    var options = MergeOptions.replaceAll
    options.conflictResolution = .localWins
    let result = try stack.merge(page([3: 1]), into: "Artist", options: options)
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1))
    #expect(try stack.names() == [1: "theirs", 3: "3.1"])
  }

  @Test(arguments: Backend.available)
  func `with localWins, a record that another writer inserts during a merge keeps its values`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try insertJazz(stack)
    let result = try stack.merge(genres(["jazz": 5, "rock": 6]), into: "Genre", options: Self.localWins)
    #expect(result.counts == MergeResult.with(inserted: 1, skipped: 1))
    #expect(try ranks(stack) == ["jazz": 1, "rock": 6])
  }
}
