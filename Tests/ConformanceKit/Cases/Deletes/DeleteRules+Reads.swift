import CoherenceCore

extension ConformanceSubject {
  /// Relationships read after a delete and before its save.
  static var readsAfterDeletes: [Case] {
    DeletedPlace.all.flatMap(readsAfterDeletes) + [
      vanishedFirstMember, movedDeletes, movedTwice, movedAndDeleted, linkedMeanwhile,
    ]
  }

  private static let movedAndDeleted = Case(
    "a record that a context has moved and another writer has deleted stays in the list of its owner until the save"
  ) { stack in
    try stack.write { context in
      let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
      try albums[0].setObjects([try context.make("Track", ["title": "t"])], for: "tracks")
    }
    let (context, writer) = (stack.context(), stack.context())
    context.follow(writer)
    let album = try context.performAndWait {
      let album = try context.one("Album", where: equal("title", "B"))
      try album.setObjects([try context.one("Track")], for: "tracks")
      return album
    }
    try writer.performAndWait {
      writer.delete(try writer.one("Track"))
      try writer.save()
    }
    try context.performAndWait {
      try expectEqual([try context.number(of: "Track"), try album.objects(for: "tracks").count], [1, 1])
      try expectEqual(try context.names("Album", where: members(.any, "tracks", equal("title", "t"))), ["B"])
      _ = try expectThrows(.versionConflict) { try context.save() }
      context.rollback()
      try expectEqual([try context.number(of: "Track"), try album.objects(for: "tracks").count], [0, 0])
    }
  }

  private static let linkedMeanwhile = Case(
    "a record that a child has deleted is in no list of its parent, even if the parent has linked it meanwhile"
  ) { stack in
    try stack.write { context in
      try context.make("Album", ["title": "A"]).setObject(try context.make("Artist", ["name": "M"]), for: "artist")
      try context.make("Genre", ["name": "g"])
    }
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try child.performAndWait {
      child.delete(try child.one("Album"))
      try child.processPendingChanges()
    }
    let genre = try parent.performAndWait {
      let genre = try parent.one("Genre")
      try genre.setObjects([try parent.one("Album")], for: "albums")
      try parent.save()
      return genre
    }
    try child.performAndWait { try child.save() }
    try parent.performAndWait { try expectEqual(try genre.objects(for: "albums").count, 0) }
  }

  private static let movedTwice = Case(
    "a record that two contexts move to different owners is in one list of each context"
  ) { stack in
    try stack.write { context in
      let albums = try ["A", "B", "C"].map { try context.make("Album", ["title": $0]) }
      try albums[0].setObjects([try context.make("Track", ["title": "t"])], for: "tracks")
      let artists = try ["M", "N", "O"].map { try context.make("Artist", ["name": $0]) }
      try albums[0].setObject(artists[0], for: "artist")
    }
    let (context, writer) = (stack.context(), stack.context())
    context.follow(writer)
    func move(_ context: ManagedObjectContext, to album: String, _ artist: String) throws {
      try context.one("Album", where: equal("title", album)).setObjects([try context.one("Track")], for: "tracks")
      let artist = try context.one("Artist", where: equal("name", artist))
      try context.one("Album", where: equal("title", "A")).setObject(artist, for: "artist")
    }
    try context.performAndWait { try move(context, to: "B", "N") }
    try writer.performAndWait {
      try move(writer, to: "C", "O")
      try writer.save()
    }
    try context.performAndWait {
      let tracks = try ["A", "B", "C"].map { title in
        try context.one("Album", where: equal("title", title)).objects(for: "tracks").count
      }
      try expectEqual(tracks, [0, 1, 0])
      let albums = try ["M", "N", "O"].map { name in
        try context.one("Artist", where: equal("name", name)).objects(for: "albums").count
      }
      try expectEqual(albums, [0, 1, 0])
      let later = try unwrap(try context.one("Album", where: equal("title", "C")) as? Album)
      try expectEqual([later.tracks.count, later.tracks.first == nil ? 0 : 1], [0, 0])
      _ = try expectThrows(.versionConflict) { try context.save() }
    }
  }

  private static let movedDeletes = Case(
    "a deleted record is in no list, even if another writer has moved it there"
  ) { stack in
    try stack.write { context in
      let album = try context.make("Album", ["title": "A"])
      try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
      try album.setObjects([try context.make("Track", ["title": "t"])], for: "tracks")
      try context.make("Album", ["title": "B"])
      try context.make("Artist", ["name": "N"])
      try context.make("Genre", ["name": "g"])
    }
    let (context, writer) = (stack.context(), stack.context())
    context.follow(writer)
    let album = try context.performAndWait {
      for entity in ["Track", "Genre"] { context.delete(try context.one(entity)) }
      context.delete(try context.one("Album", where: equal("title", "A")))
      return try unwrap(try context.one("Album", where: equal("title", "B")) as? Album)
    }
    try writer.performAndWait {
      let album = try writer.one("Album", where: equal("title", "B"))
      try album.setObjects([try writer.one("Track")], for: "tracks")
      try album.setObjects([try writer.one("Genre")], for: "genres")
      let artist = try writer.one("Artist", where: equal("name", "N"))
      try writer.one("Album", where: equal("title", "A")).setObject(artist, for: "artist")
      try writer.save()
    }
    try context.performAndWait {
      let artist = try context.one("Artist", where: equal("name", "N"))
      try expectEqual([album.tracks.count, album.genres.count], [0, 0])
      try expectEqual([album.tracks.isEmpty, album.genres.isEmpty], [true, true])
      try expectEqual([album.tracks.first, album.genres.first], [nil, nil] as [ManagedObject?])
      try expectEqual([Array(album.tracks).count, Array(album.genres).count], [0, 0])
      try expectEqual(try artist.objects(for: "albums").count, 0)
    }
  }

  private static let vanishedFirstMember = Case(
    "the first member is a present one, even if the list was read before a parent deleted its first member"
  ) { stack in
    try stack.write { context in
      let album = try context.make("Album", ["title": "a"])
      try album.setObjects(try (0..<3).map { try context.make("Track", ["title": "\($0)"]) }, for: "tracks")
      try album.setObjects(try ["f", "g"].map { try context.make("Genre", ["name": $0]) }, for: "genres")
    }
    try stack.read { context in
      let child = ManagedObjectContext(parent: context)
      let album = try child.performAndWait { try unwrap(try child.one("Album") as? Album) }
      // The lists are loaded, and their members are not held.
      let deleted = child.performAndWait { [Array(album.tracks)[0].objectID, Array(album.genres)[0].objectID] }
      for id in deleted { context.delete(try context.existingObject(with: id)) }
      try child.performAndWait {
        try expectEqual(album.tracks.first?.title, "1")
        try expectEqual(album.genres.first?.name, "g")
      }
    }
  }

  @CasesBuilder private static func readsAfterDeletes(_ place: DeletedPlace) -> [Case] {
    Case("a deleted member leaves an ordered list at once, \(place)") { stack in
      try place.run(stack) { album in
        let tracks = Array(album.tracks)
        album.managedObjectContext?.delete(tracks[1])
        try expectEqual(Array(album.tracks), [tracks[0], tracks[2]])
        try expectEqual([album.tracks.count, album.tracks.objectIDs.count], [2, 2])
        try expect(!album.tracks.contains(tracks[1]), "a deleted member")
        try expect(album.tracks[1] === tracks[2], "the list without the deleted member")
        try expectEqual(try album.objects(for: "tracks"), [tracks[0], tracks[2]])
      }
    }
    Case("the number of members counts no deleted member, \(place)") { stack in
      try place.run(stack) { album in
        let track = try unwrap(album.tracks.first)
        album.managedObjectContext?.delete(track)
        try expectEqual(album.tracks.count, 2)
        try expect(album.tracks.first !== track, "a deleted first member")
      }
    }
    Case("a deleted member leaves a many-to-many relationship at once, \(place)") { stack in
      try place.run(stack) { album in
        let genre = try unwrap(album.genres.first)
        album.managedObjectContext?.delete(genre)
        try expect(album.genres.isEmpty, "no member")
        try expect(!album.genres.contains(genre), "a deleted member")
        try expectEqual(Array(album.genres), [])
      }
    }
    Case("a nullified reference to a deleted record reads as none at once, \(place)") { stack in
      try place.run(stack) { album in
        let artist = try unwrap(album.artist)
        album.managedObjectContext?.delete(artist)
        try expect(album.artist == nil, "no artist")
        try expect(try album.object(for: "artist") == nil, "no artist by name")
      }
    }
    Case("a cascade is applied before the next read of a relationship, \(place)") { stack in
      try place.run(stack) { album in
        let (genre, track) = (try unwrap(album.genres.first), try unwrap(album.tracks.first))
        album.managedObjectContext?.delete(album)
        try expect(genre.albums.isEmpty, "no album")
        try expect(track.isDeleted, "a deleted track")
      }
    }
  }
}

/// A context that deletes, and what it has read before.
private struct DeletedPlace: CustomStringConvertible {
  let isChild: Bool
  let isLoaded: Bool

  static let all = [false, true].flatMap { isChild in
    [false, true].map { DeletedPlace(isChild: isChild, isLoaded: $0) }
  }

  var description: String {
    "in a \(isChild ? "child context" : "context") that has read \(isLoaded ? "the relationships" : "nothing")"
  }

  /// Runs a block with an album of three tracks, a genre and an artist, in the context of the place.
  func run(_ stack: ConformanceStack, _ body: (Album) throws -> Void) throws {
    try stack.write { context in
      let album = try context.make("Album", ["title": "a"])
      try album.setObject(try context.make("Artist", ["name": "a"]), for: "artist")
      try album.setObjects([try context.make("Genre", ["name": "g"])], for: "genres")
      try album.setObjects(try (0..<3).map { try context.make("Track", ["title": "\($0)"]) }, for: "tracks")
    }
    try stack.read { context in
      let working = isChild ? ManagedObjectContext(parent: context) : context
      try working.performAndWait {
        let album = try unwrap(try working.one("Album") as? Album)
        if isLoaded { _ = (Array(album.tracks), Array(album.genres), album.artist) }
        try body(album)
      }
    }
  }
}
