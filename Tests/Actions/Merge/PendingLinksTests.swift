import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

@Suite("Links of merges under pending edits")
struct PendingLinksTests {
  private func album(_ number: Int, _ links: [String: MergeLink] = [:]) -> MergeRecord {
    MergeRecord(["label": "L", "number": number], links: links)
  }

  private func artist(_ id: Int, albums: [Int]) -> MergeRecord {
    MergeRecord(["id": id], links: ["albums": .many(albums.map { MergeKey("L", $0) })])
  }

  private func ids<Key: AttributeConvertible & Hashable>(
    _ name: String, by key: String, _ stack: MergeStack, as type: Key.Type = Key.self
  ) throws -> [Key: ManagedObjectID] {
    try stack.read { context in
      Dictionary(
        uniqueKeysWithValues: try stack.objects(name, context).map {
          (try $0.value(for: key, as: Key.self), $0.objectID)
        }
      )
    }
  }

  /// The names of the genres of the album with a number.
  private func genres(of number: Int64, _ stack: MergeStack) throws -> Set<String> {
    try stack.read { context in
      let album = try stack.objects("Album", context).first { try $0.value(for: "number", as: Int64.self) == number }
      return Set(try album?.objects(for: "genres").map { try $0.value(for: "name", as: String.self) } ?? [])
    }
  }

  /// The numbers of the albums of artists, in order.
  private func albums(_ stack: MergeStack) throws -> [Int32: [Int64]] {
    try stack.read { context in
      Dictionary(
        uniqueKeysWithValues: try stack.objects("Artist", context).map {
          (
            try $0.value(for: "id", as: Int32.self),
            try $0.objects(for: "albums").map { try $0.value(for: "number", as: Int64.self) }
          )
        })
    }
  }

  @Test(arguments: Backend.available)
  func `a link to a record with a pending deletion is left out`(backend: Backend) throws {
    let source = ScriptedEdits()
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    source.add(try stack.deleteArtist(1))
    let page = [album(1, ["artist": .one(1)]), album(2, ["artist": .one(2)])]
    #expect(try stack.merge(page, into: "Album").counts == MergeResult.with(inserted: 2))
    #expect(try albums(stack) == [2: [2]])
    #expect(try stack.merge(page, into: "Album").counts == MergeResult.with(unchanged: 2))
    let links = [MergeRecord(["id": 2, "name": "new"], links: ["mentor": .one(1)])]
    #expect(try stack.merge(links, into: "Artist").counts == MergeResult.with(updated: 1))
    #expect(try stack.names() == [2: "new"])
  }

  @Test(arguments: Backend.available)
  func `members that the user added or removed stay so, and the server's other members are taken`(
    backend: Backend
  ) throws {
    let source = ScriptedEdits(["Album"])
    let stack = try MergeStack.pending(backend, source)
    try stack.merge(["jazz", "rock", "soul"].map { MergeRecord(["name": $0]) }, into: "Genre")
    // The server has "jazz"; the user has removed it and added "rock".
    try stack.merge([album(1, ["genres": .many(["rock"])])], into: "Album")
    let genres = try ids("Genre", by: "name", stack, as: String.self)
    let album = try #require(try ids("Album", by: "number", stack, as: Int64.self)[1])
    let jazz = try #require(genres["jazz"])
    let rock = try #require(genres["rock"])
    source.add(
      PendingEdit(
        of: album, .update, changed: ["genres"], members: ["genres": PendingMembers(added: [rock], removed: [jazz])]))
    let page = [self.album(1, ["genres": .many(["jazz", "soul"])])]
    let result = try stack.merge(page, into: "Album")
    #expect(result.counts == MergeResult.with(updated: 1) && result.keptEdits == 1)
    #expect(try self.genres(of: 1, stack) == ["rock", "soul"])
    let again = try stack.merge(page, into: "Album")
    #expect(again.counts == MergeResult.with(skipped: 1) && again.keptEdits == 1)
    let won = try stack.merge(page, into: "Album", options: MergeOptions(pendingEdits: .server))
    #expect(won.counts == MergeResult.with(updated: 1) && won.keptEdits == 0)
    #expect(try self.genres(of: 1, stack) == ["jazz", "soul"])
    #expect(source.decisions.map(\.discarded) == [["genres"]])
  }

  @Test(arguments: Backend.available)
  func `a list of the server neither takes back a moved member nor drops a new one`(backend: Backend) throws {
    let source = ScriptedEdits(["Album"])
    let stack = try MergeStack.pending(backend, source, names: [1: "one", 2: "two"])
    // The server has the albums 1 and 2 with the first artist; the user has moved album 2 and inserted album 3.
    try stack.merge(
      [album(1, ["artist": .one(1)]), album(2, ["artist": .one(2)]), album(3, ["artist": .one(1)])], into: "Album")
    let albums = try ids("Album", by: "number", stack, as: Int64.self)
    source.add(
      PendingEdit(of: try #require(albums[2]), .update, changed: ["artist"]),
      PendingEdit(of: try #require(albums[3]), .insert))
    let before = try self.albums(stack)
    let page = [artist(1, albums: [1, 2]), artist(2, albums: [])]
    let result = try stack.merge(page, into: "Artist")
    #expect(result.counts == MergeResult.with(skipped: 2) && result.keptEdits == 2)
    #expect(try self.albums(stack) == before)
  }

  @Test(arguments: Backend.available)
  func `an edited order stays`(backend: Backend) throws {
    let source = ScriptedEdits()
    let stack = try MergeStack.pending(backend, source, names: [1: "one"])
    try stack.merge([album(1), album(2)], into: "Album")
    try stack.merge([artist(1, albums: [2, 1])], into: "Artist")
    source.add(PendingEdit(of: try stack.artistID(1), .update, changed: ["albums"]))
    let page = [artist(1, albums: [1, 2])]
    #expect(try stack.merge(page, into: "Artist").counts == MergeResult.with(skipped: 1))
    #expect(try albums(stack) == [1: [2, 1]])
    #expect(try stack.merge(page, into: "Artist", options: MergeOptions(pendingEdits: .server)).updated == 1)
    #expect(try albums(stack) == [1: [1, 2]])
  }

  @Test(arguments: Backend.available)
  func `a changed to-one relationship keeps its pending edit`(backend: Backend) throws {
    let source = ScriptedEdits(["Album"])
    let stack = try MergeStack.pending(backend, source, names: [1: "one", 2: "two", 3: "three"])
    try stack.merge([album(1, ["artist": .one(2)])], into: "Album")
    let id = try #require(try ids("Album", by: "number", stack, as: Int64.self)[1])
    source.add(
      PendingEdit(of: id, .update, changed: ["artist"], base: ["artist": .reference(try stack.artistID(1))]))
    for key in [1, 3] as [MergeKey] {
      #expect(try stack.merge([album(1, ["artist": .one(key)])], into: "Album").counts == MergeResult.with(skipped: 1))
      #expect(try albums(stack)[2] == [1])
    }
    let page = [album(1, ["artist": .one(3)])]
    let options = MergeOptions(pendingEdits: .conflict)
    #expect(try stack.merge(page, into: "Album", options: options).pendingConflicts == 1)
    #expect(source.decisions.first?.conflicting == ["artist"])
    #expect(source.decisions.first?.serverValues?["artist"] == .reference(try stack.artistID(3)))
  }
}
