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

  /// Makes a stack with an album. The server has the genre "jazz" for it; the user has removed it and added "rock".
  private func editedGenres(_ backend: Backend) throws -> (stack: MergeStack, source: ScriptedEdits) {
    let source = ScriptedEdits(["Album"])
    let stack = try MergeStack.pending(backend, source)
    try stack.merge(["jazz", "rock", "soul"].map { MergeRecord(["name": $0]) }, into: "Genre")
    try stack.merge([album(1, ["genres": .many(["rock"])])], into: "Album")
    let genres = try ids("Genre", by: "name", stack, as: String.self)
    let edited = try #require(try ids("Album", by: "number", stack, as: Int64.self)[1])
    let jazz = try #require(genres["jazz"])
    let rock = try #require(genres["rock"])
    source.add(
      PendingEdit(
        of: edited, .update, changed: ["genres"], members: ["genres": PendingMembers(added: [rock], removed: [jazz])]))
    return (stack, source)
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
    let (stack, _) = try editedGenres(backend)
    let page = [album(1, ["genres": .many(["jazz", "soul"])])]
    let result = try stack.merge(page, into: "Album")
    #expect(result.counts == MergeResult.with(updated: 1) && result.keptEdits == 1)
    #expect(try self.genres(of: 1, stack) == ["rock", "soul"])
    let again = try stack.merge(page, into: "Album")
    #expect(again.counts == MergeResult.with(skipped: 1) && again.keptEdits == 1)
  }

  @Test(arguments: Backend.available)
  func `under the policy server, an edit of members gives way only to another change of the list`(
    backend: Backend
  ) throws {
    let (stack, source) = try editedGenres(backend)
    let options = MergeOptions(pendingEdits: .server)
    let former = [album(1, ["genres": .many(["jazz"])])]
    let kept = try stack.merge(former, into: "Album", options: options)
    #expect(kept.counts == MergeResult.with(skipped: 1) && kept.keptEdits == 1)
    #expect(try self.genres(of: 1, stack) == ["rock"])
    #expect(source.decisions.isEmpty)
    let changed = [album(1, ["genres": .many(["jazz", "soul"])])]
    let won = try stack.merge(changed, into: "Album", options: options)
    #expect(won.counts == MergeResult.with(updated: 1) && won.keptEdits == 0)
    #expect(try self.genres(of: 1, stack) == ["jazz", "soul"])
    #expect(source.decisions.map(\.discarded) == [["genres"]])
  }

  @Test(arguments: Backend.available)
  func `under the policy server, an edit of an ordered list gives way to the former list too`(
    backend: Backend
  ) throws {
    let source = ScriptedEdits()
    let stack = try MergeStack.pending(backend, source, names: [1: "a"])
    try stack.merge([album(1), album(2)], into: "Album")
    try stack.merge([artist(1, albums: [1, 2])], into: "Artist")
    let second = try #require(try ids("Album", by: "number", stack, as: Int64.self)[2])
    source.add(
      PendingEdit(
        of: try stack.artistID(1), .update, changed: ["albums"],
        members: ["albums": PendingMembers(added: [second])]))
    let former = [artist(1, albums: [1])]
    let result = try stack.merge(former, into: "Artist", options: MergeOptions(pendingEdits: .server))
    #expect(result.counts == MergeResult.with(updated: 1) && result.keptEdits == 0)
    #expect(try albums(stack) == [1: [1]])
    #expect(source.decisions.map(\.discarded) == [["albums"]])
  }

  @Test(arguments: Backend.available)
  func `members whose own edits added or removed an owner stay so with this owner, and not with others`(
    backend: Backend
  ) throws {
    let source = ScriptedEdits(["Genre"])
    let stack = try MergeStack.pending(backend, source)
    try stack.merge(["jazz", "rock", "soul"].map { MergeRecord(["name": $0]) }, into: "Genre")
    // The server has "jazz" with the first album and "rock" with none; the user has edited both genres.
    let albums = [1, 2].map { album($0, ["genres": .many(["rock"])]) }
    try stack.merge(albums, into: "Album")
    let genres = try ids("Genre", by: "name", stack, as: String.self)
    let first = try #require(try ids("Album", by: "number", stack, as: Int64.self)[1])
    source.add(
      PendingEdit(
        of: try #require(genres["jazz"]), .update, members: ["albums": PendingMembers(removed: [first])]),
      PendingEdit(of: try #require(genres["rock"]), .update, members: ["albums": PendingMembers(added: [first])]))
    let page = [1, 2].map { album($0, ["genres": .many(["jazz", "soul"])]) }
    let result = try stack.merge(page, into: "Album")
    #expect(result.counts == MergeResult.with(updated: 2) && result.keptEdits == 1)
    #expect(try self.genres(of: 1, stack) == ["rock", "soul"])
    #expect(try self.genres(of: 2, stack) == ["jazz", "soul"])
    let again = try stack.merge(page, into: "Album")
    #expect(again.counts == MergeResult.with(unchanged: 1, skipped: 1) && again.keptEdits == 1)
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
  func `a new record of the server does not take a member that the user has moved`(backend: Backend) throws {
    let source = ScriptedEdits(["Album"])
    let stack = try MergeStack.pending(backend, source, names: [1: "one", 2: "two"])
    // The server has moved the albums 1 and 2 to a new artist; the user has moved album 2 to the second artist.
    try stack.merge([album(1, ["artist": .one(1)]), album(2, ["artist": .one(2)])], into: "Album")
    let moved = try #require(try ids("Album", by: "number", stack, as: Int64.self)[2])
    source.add(PendingEdit(of: moved, .update, changed: ["artist"]))
    let page = [artist(3, albums: [1, 2])]
    let result = try stack.merge(page, into: "Artist", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1) && result.keptEdits == 1)
    #expect(try albums(stack) == [1: [], 2: [2], 3: [1]])
    #expect(try stack.merge(page, into: "Artist", options: MergeOptions()).counts == MergeResult.with(skipped: 1))
  }

  /// Seats and their guests.
  private static func seats() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Seat", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("name", .string, default: "")
        Relationship("guest", toOne: "Guest", inverse: "seat")
      }
      Entity("Guest", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("seat", toOne: "Seat", inverse: "guest")
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a partner that the user has moved stays with the new partner`(backend: Backend) throws {
    let source = ScriptedEdits(["Guest"])
    let stack = try MergeStack(backend, Self.seats())
    func seat(_ id: Int, _ guest: MergeLink, name: String = "") -> MergeRecord {
      MergeRecord(["id": id, "name": name], links: ["guest": guest])
    }
    func guests() throws -> [Int64: Int64?] {
      try stack.read { context in
        Dictionary(
          uniqueKeysWithValues: try stack.objects("Seat", context).map { object in
            (
              try object.value(for: "id", as: Int64.self),
              try object.object(for: "guest")?.value(for: "id", as: Int64.self)
            )
          })
      }
    }
    try stack.merge([MergeRecord(["id": 7])], into: "Guest")
    // The server has the guest on the first seat; the user has moved the guest to the second one.
    try stack.merge([seat(1, .none), seat(2, .one(7))], into: "Seat")
    stack.connect.pendingEdits = source
    let guest = try #require(try ids("Guest", by: "id", stack, as: Int64.self)[7])
    source.add(PendingEdit(of: guest, .update, changed: ["seat"]))
    let first = try stack.merge([seat(1, .one(7)), seat(2, .none)], into: "Seat", options: MergeOptions())
    #expect(first.counts == MergeResult.with(skipped: 2) && first.keptEdits == 2)
    #expect(try guests() == [1: nil, 2: 7])
    let second = try stack.merge([seat(2, .none, name: "B"), seat(3, .one(7))], into: "Seat", options: MergeOptions())
    #expect(second.counts == MergeResult.with(inserted: 1, updated: 1) && second.keptEdits == 2)
    #expect(try guests() == [1: nil, 2: 7, 3: nil])
    #expect(try stack.values(of: "Seat", "name", by: "id", as: (Int64, String).self)[2] == "B")
    // The server has confirmed the move since the request for the page.
    source.add(PendingEdit(of: guest, .update, outdated: ["seat": [.null]], isConfirmed: true))
    let third = try stack.merge([seat(1, .one(7)), seat(2, .none, name: "B")], into: "Seat", options: MergeOptions())
    #expect(third.keptEdits == 2)
    #expect(try guests() == [1: nil, 2: 7, 3: nil])
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

  @Test(arguments: Backend.available)
  func `a link to a new record that a pending deletion keeps out is left out`(backend: Backend) throws {
    let source = ScriptedEdits(["Folder"])
    let stack = try MergeStack(backend, MergeStack.folders(isRequired: true))
    func note(_ id: Int, in folder: MergeKey, under parent: MergeKey? = nil) -> MergeRecord {
      let link = parent.map { MergeLink.one($0) } ?? MergeLink.none
      return MergeRecord(["id": id], links: ["folder": .one(folder), "parent": link])
    }
    func parents() throws -> [Int64: Int64?] {
      try stack.read { context in
        Dictionary(
          uniqueKeysWithValues: try stack.objects("Note", context).map { object in
            (
              try object.value(for: "id", as: Int64.self),
              try object.object(for: "parent")?.value(for: "id", as: Int64.self)
            )
          })
      }
    }
    try stack.merge([MergeRecord(["id": 1]), MergeRecord(["id": 2])], into: "Folder")
    try stack.merge([note(9, in: 2), note(1, in: 2, under: 9)], into: "Note")
    stack.connect.pendingEdits = source
    try stack.read { context in
      for folder in try stack.objects("Folder", context) where try folder.value(for: "id", as: Int64.self) == 1 {
        source.add(PendingEdit(of: folder.objectID, .delete, base: ["id": .int(1)]))
        context.delete(folder)
      }
      try context.save()
    }
    // The server has a new note in the deleted folder, and links an old and a new note to it.
    let page = [note(5, in: 1), note(1, in: 2, under: 5), note(6, in: 2, under: 5), note(9, in: 2)]
    for _ in 0..<2 {
      #expect(try stack.merge(page, into: "Note", options: MergeOptions()).keptEdits == 1)
      #expect(try parents() == [1: 9, 6: nil, 9: nil])
    }
  }

  @Test(arguments: Backend.available)
  func `a new record that needs a record kept out by a pending deletion is kept out too`(backend: Backend) throws {
    let source = ScriptedEdits(["Room"])
    let stack = try MergeStack(backend, MergeStack.rooms())
    func message(_ id: Int, in room: MergeKey, of thread: MergeKey) -> MergeRecord {
      MergeRecord(["id": id], links: ["room": .one(room), "thread": .one(thread)])
    }
    try stack.merge([MergeRecord(["id": 1]), MergeRecord(["id": 2])], into: "Room")
    stack.connect.pendingEdits = source
    let deleted = try #require(try ids("Room", by: "id", stack, as: Int64.self)[1])
    source.add(PendingEdit(of: deleted, .delete, base: ["id": .int(1)]))
    try stack.read { context in
      context.delete(try context.existingObject(with: deleted))
      try context.save()
    }
    // The replies to a message in the deleted room are in the other room.
    let page = [
      message(7, in: 2, of: 6), message(6, in: 2, of: 5), message(5, in: 1, of: 5), message(8, in: 2, of: 8),
    ]
    let result = try stack.merge(page, into: "Message", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1, skipped: 3) && result.keptEdits == 3)
    #expect(try ids("Message", by: "id", stack, as: Int64.self).keys.sorted() == [8])
  }

  @Test(arguments: Backend.available)
  func `a list of the server is taken beside the pending edit of an attribute`(backend: Backend) throws {
    let source = ScriptedEdits()
    let stack = try MergeStack.pending(backend, source, names: [1: "edited"])
    try stack.merge([album(1), album(2)], into: "Album")
    source.add(try stack.renamed(1, from: "old"))
    var page = artist(1, albums: [2])
    page.values["name"] = "old"
    #expect(try stack.merge([page], into: "Artist").keptEdits == 1)
    #expect(try stack.names() == [1: "edited"])
    #expect(try albums(stack) == [1: [2]])
  }

  @Test(arguments: Backend.available)
  func `a new record that requires a partner with another partner here is postponed`(backend: Backend) throws {
    let model = try ManagedObjectModel {
      Entity("Seat", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("guest", toOne: "Guest", inverse: "seat", optional: false)
      }
      Entity("Guest", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("seat", toOne: "Seat", inverse: "guest")
      }
    }
    let source = ScriptedEdits(["Guest"])
    let stack = try MergeStack(backend, model)
    try stack.merge([7, 8].map { MergeRecord(["id": $0]) }, into: "Guest")
    try stack.merge([MergeRecord(["id": 2, "guest": 7])], into: "Seat")
    stack.connect.pendingEdits = source
    let guest = try #require(try ids("Guest", by: "id", stack, as: Int64.self)[7])
    source.add(PendingEdit(of: guest, .update, changed: ["seat"]))
    let page = [MergeRecord(["id": 3, "guest": 7]), MergeRecord(["id": 4, "guest": 8])]
    let result = try stack.merge(page, into: "Seat", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1, skipped: 1))
    #expect(result.keptEdits == 1 && result.postponed == 1)
    #expect(try ids("Seat", by: "id", stack, as: Int64.self).keys.sorted() == [2, 4])
  }
}
