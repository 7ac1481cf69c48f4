import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Pages with links to records that neither the store nor the page has.
@Suite("Merges with links to missing records")
struct MissingTargetTests {
  private static let leavingOut = MergeOptions(missingTargets: .leaveOut)

  private func album(_ number: Int, _ links: [String: MergeLink] = [:]) -> MergeRecord {
    MergeRecord(["label": "L", "number": number], links: links)
  }

  /// The keys of the albums' artists, by the number of the album.
  private func artists(_ stack: MergeStack) throws -> [Int64: Int32?] {
    try stack.read { context in
      Dictionary(
        uniqueKeysWithValues: try stack.objects("Album", context).map { album in
          let artist = try album.object(for: "artist")
          return (try album.value(for: "number", as: Int64.self), try artist?.value(for: "id", as: Int32.self))
        })
    }
  }

  private func genres(_ stack: MergeStack, _ number: Int64) throws -> Set<String> {
    try stack.read { context in
      let albums = try stack.objects("Album", context)
      let album = try albums.first { try $0.value(for: "number", as: Int64.self) == number }
      return Set(try album?.objects(for: "genres").map { try $0.value(for: "name", as: String.self) } ?? [])
    }
  }

  @Test(arguments: Backend.available)
  func `links to missing records are left out and counted, until a merge has the records`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge([MergeRecord(["id": 3])], into: "Artist")
    try stack.merge([MergeRecord(["name": "rock"])], into: "Genre")
    try stack.merge([album(3, ["artist": .one(3)])], into: "Album")
    let page = [
      album(1, ["artist": .one(4711)]), album(2, ["genres": .many(["rock", "jazz"])]),
      album(3, ["artist": .one(4711)]),
    ]
    let first = try stack.merge(page, into: "Album", options: Self.leavingOut)
    #expect(first.counts == MergeResult.with(inserted: 2, unchanged: 1))
    #expect(first.missingLinks == 3)
    #expect(try artists(stack) == [1: nil, 2: nil, 3: 3])
    #expect(try genres(stack, 2) == ["rock"])
    let second = try stack.merge(page, into: "Album", options: Self.leavingOut)
    #expect(second.counts == MergeResult.with(unchanged: 3))
    #expect(second.missingLinks == 3)

    try stack.merge([MergeRecord(["id": 4711])], into: "Artist", options: MergeOptions())
    let third = try stack.merge(page, into: "Album", options: Self.leavingOut)
    #expect(third.counts == MergeResult.with(updated: 2, unchanged: 1))
    #expect(third.missingLinks == 1)
    #expect(try artists(stack) == [1: 4711, 2: nil, 3: 4711])
    var sum = first
    sum += third
    #expect(sum.missingLinks == 4)
  }

  @Test(arguments: Backend.available)
  func `a record that needs a missing record is not inserted, and neither are records that need it`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, MergeStack.rooms())
    try stack.merge([MergeRecord(["id": 1])], into: "Room")
    let page = [(1, 1, 1), (2, 9, 2), (3, 1, 2), (4, 1, 3), (5, 1, 1)].map { id, room, thread in
      MergeRecord(["id": id, "room": room, "thread": thread])
    }
    for isFirst in [true, false] {
      let result = try stack.merge(page, into: "Message", options: Self.leavingOut)
      #expect(result.inserted == (isFirst ? 2 : 0) && result.unchanged == (isFirst ? 0 : 2))
      #expect(result.skipped == 3 && result.missingLinks == 1)
    }
    #expect(try stack.versions(of: "Message").count == 2)
  }

  @Test(arguments: Backend.available)
  func `a page that deletes a record to which the page links is refused, or leaves the link out`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "a", 2: "b", 3: "c"]), into: "Artist")
    try stack.merge([MergeRecord(["id": 1, "mentor": 3])], into: "Artist", options: MergeOptions())
    let page = DeltaPage(
      records: [MergeRecord(["id": 1, "mentor": 2]), MergeRecord(["id": 4, "mentor": 2])], tombstones: [2])
    let artist = try stack.entity("Artist")
    #expect { try stack.connect.newActionContext().merge(page, for: artist) } throws: { ErrorCode.objectNotFound ~= $0 }
    for isFirst in [true, false] {
      let result = try stack.connect.newActionContext().merge(page, for: artist, options: Self.leavingOut)
      #expect(result.deleted == (isFirst ? 1 : 0) && result.inserted == (isFirst ? 1 : 0))
      #expect(result.missingLinks == 2)
    }
    let mentors: [Int32] = try stack.read { context in
      let mentors = try stack.objects("Artist", context).compactMap { try $0.object(for: "mentor") }
      return try mentors.map { try $0.value(for: "id", as: Int32.self) }
    }
    #expect(mentors == [3])
  }

  @Test(arguments: Backend.available)
  func `an update whose members differ only by records that the merge deletes counts as unchanged`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "a", 2: "b"]), into: "Artist")
    let page = DeltaPage(records: [MergeRecord(["id": 1], links: ["pupils": .many([2])])], tombstones: [2])
    for deleted in [1, 0] {
      let result = try stack.connect.newActionContext().merge(
        page, for: try stack.entity("Artist"), options: Self.leavingOut)
      #expect(result.counts == MergeResult.with(unchanged: 1, deleted: deleted))
      #expect(result.missingLinks == 1)
    }
  }

  @Test(arguments: Backend.available)
  func `records that wait for the end of a pending deletion are counted`(backend: Backend) throws {
    let source = ScriptedEdits()
    let stack = try MergeStack.pending(backend, source, names: [1: "old", 2: "old"])
    let deletion = try stack.deleteArtist(1)
    source.add(deletion)
    let albums = try stack.merge(
      [album(1, ["artist": .one(1)]), album(2, ["artist": .one(2)])], into: "Album", options: MergeOptions())
    #expect(albums.inserted == 2 && albums.postponed == 1)
    let artists = try stack.merge(MergeStack.artists([1: "new", 2: "old"]), into: "Artist", options: MergeOptions())
    #expect(artists.inserted == 0 && artists.postponed == 1)
    var sum = albums
    sum += artists
    #expect(sum.postponed == 2)
    var confirmed = deletion
    confirmed.isConfirmed = true
    source.add(confirmed)
    #expect(
      try stack.merge(MergeStack.artists([1: "new"]), into: "Artist", options: MergeOptions()).postponed == 1)
  }

  @Test(arguments: Backend.available)
  func `a record whose list has too few members without the missing records is not inserted, or keeps its list`(
    backend: Backend
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Band", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("players", toMany: "Player", inverse: "bands", minimumCount: 2)
      }
      Entity("Player", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("bands", toMany: "Band", inverse: "players")
      }
    }
    let stack = try MergeStack(backend, model)
    try stack.merge([1, 2].map { MergeRecord(["id": $0]) }, into: "Player")
    func band(_ id: Int, _ players: [MergeKey]) -> MergeRecord {
      MergeRecord(["id": id], links: ["players": .many(players)])
    }
    let result = try stack.merge([band(1, [1, 9]), band(2, [1, 2, 9])], into: "Band", options: Self.leavingOut)
    #expect(result.counts == MergeResult.with(inserted: 1, skipped: 1) && result.missingLinks == 2)
    let players = try stack.read { context in
      try stack.objects("Band", context).map { band in
        (try band.value(for: "id", as: Int.self), try band.objects(for: "players").count)
      }
    }
    #expect(players.map(\.0) == [2] && players.map(\.1) == [2])
    // A stored record keeps the members that it has.
    let update = try stack.merge([band(2, [1, 9])], into: "Band", options: Self.leavingOut)
    #expect(update.counts == MergeResult.with(unchanged: 1) && update.missingLinks == 1)
    let keptCounts = try stack.read { context in
      try stack.objects("Band", context).map { band in try band.objects(for: "players").count }
    }
    #expect(keptCounts == [2])
    // Fewer members than needed are an error of the input, not of missing records. A repeated key is one member.
    for players: [MergeKey] in [[9], [9, 9]] {
      #expect { try stack.merge([band(3, players)], into: "Band", options: Self.leavingOut) } throws: {
        ErrorCode.validationFailed ~= $0
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a paged merge leaves out and counts the links to the records that it deletes at its end`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(MergeStack.artists([1: "a", 2: "b", 3: "c"]), into: "Artist")
    let (pages, continuation) = AsyncStream.makeStream(of: [MergeRecord].self)
    continuation.yield([MergeRecord(["id": 1, "mentor": 2]), MergeRecord(["id": 3, "mentor": 2])])
    continuation.finish()
    let result = try await stack.connect.newActionContext().mergePages(
      pages, for: try stack.entity("Artist"),
      options: MergeOptions(mode: .replace, maximumDeletedShare: 1, missingTargets: .leaveOut))
    #expect(result.deleted == 1 && result.missingLinks == 2)
    #expect(try stack.names() == [1: "a", 3: "c"])
  }

  @Test(arguments: Backend.available)
  func `a stored record keeps its target if the new target has a pending deletion`(backend: Backend) throws {
    let source = ScriptedEdits()
    let stack = try MergeStack.pending(backend, source, names: [1: "one", 2: "two", 3: "three"])
    try stack.merge([album(1, ["artist": .one(3)])], into: "Album")
    source.add(try stack.deleteArtist(1))
    var page = album(1, ["artist": .one(1)])
    page.values["title"] = "new"
    let result = try stack.merge([page], into: "Album", options: MergeOptions())
    #expect(result.counts == MergeResult.with(updated: 1) && result.postponed == 1)
    #expect(try artists(stack) == [1: 3])
  }
}
