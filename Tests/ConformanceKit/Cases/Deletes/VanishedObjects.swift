import CoherenceCore

extension ConformanceSubject {
  /// Objects in use whose records are deleted by other contexts.
  static let vanishedObjects = ConformanceSubject("Vanished objects") {
    collections
    saves
    reports
  }

  /// An album with three tracks and two genres, held by a context that follows no other context.
  private static func heldAlbum(_ stack: ConformanceStack) throws -> (context: ManagedObjectContext, album: Album) {
    try stack.write { context in
      let album = try context.make("Album", ["title": "A"])
      try album.setObjects(try ["1", "2", "3"].map { try context.make("Track", ["title": $0]) }, for: "tracks")
      try album.setObjects(try ["Jazz", "Pop"].map { try context.make("Genre", ["name": $0]) }, for: "genres")
    }
    let context = stack.context()
    let album = try context.performAndWait {
      let album = try unwrap(try context.one("Album") as? Album)
      try expectEqual(album.tracks.count, 3)
      try expectEqual(album.genres.count, 2)
      return album
    }
    return (context, album)
  }

  /// The identifier of a saved and then deleted record.
  private static func deletedID(_ entity: String, _ values: [String: String], _ stack: ConformanceStack) throws
    -> ManagedObjectID
  {
    let id = try stack.write { context in
      let object = try context.make(entity, values)
      try context.obtainPermanentIDs(for: [object])
      return object.objectID
    }
    try stack.write { $0.delete(try $0.existingObject(with: id)) }
    return id
  }

  @CasesBuilder private static var collections: [Case] {
    Case("a walk over an ordered relationship leaves out members deleted by other contexts") { stack in
      let (context, album) = try heldAlbum(stack)
      try stack.write { $0.delete(try $0.one("Track", where: equal("title", "2"))) }
      try context.performAndWait {
        var walked: [String] = []
        for track in album.tracks { walked.append(track.title) }
        try expectEqual(walked, ["1", "3"])
        try expectEqual(album.tracks.map(\.title), ["1", "3"])
        try expectEqual(Array(album.tracks).map(\.title), ["1", "3"])
        try expectEqual(album.tracks.sorted { $0.title > $1.title }.map(\.title), ["3", "1"])
        var appended: [Track] = []
        appended.append(contentsOf: album.tracks)
        try expectEqual(appended.count, 2)
        try expectEqual(try album.labels(of: "tracks"), ["1", "3"])
        try expect(context.reportedErrors.isEmpty, "nothing to be reported")
      }
      try context.performAndWait { try expectEqual(album.tracks.count, 2, "the count in the next unit of work") }
    }
    Case("a walk over an unordered relationship leaves out members deleted by other contexts") { stack in
      let (context, album) = try heldAlbum(stack)
      try stack.write { $0.delete(try $0.one("Genre", where: equal("name", "Pop"))) }
      try context.performAndWait {
        try expectEqual(album.genres.map(\.name), ["Jazz"])
        try expectEqual(try album.labels(of: "genres"), ["Jazz"])
        try expect(context.reportedErrors.isEmpty, "nothing to be reported")
      }
      try context.performAndWait { try expectEqual(album.genres.count, 1, "the count in the next unit of work") }
    }
    Case("a walk over members of several entities leaves out members deleted by other contexts") { stack in
      try stack.write { context in
        let band = try context.make("Band", ["name": "B"])
        let members = try [context.make("Artist", ["name": "a"]), context.make("Legend", ["name": "b"])]
        try band.setObjects(members, for: "members")
      }
      let context = stack.context()
      let band = try context.performAndWait {
        let band = try unwrap(try context.one("Band") as? Band)
        try expectEqual(band.members.count, 2)
        return band
      }
      try stack.write { $0.delete(try $0.one("Legend")) }
      try context.performAndWait {
        try expectEqual(band.members.map(\.name), ["a"])
        try expect(!band.isUnavailable, "the owner to be there")
      }
    }
    Case("a list that its members do not know of forgets members that a followed context deleted") { stack in
      let saver = stack.context()
      let context = stack.context()
      context.follow(saver)
      try stack.write { context in
        let tracks = try ["1", "2"].map { try context.make("Track", ["title": $0]) }
        let playlist = try context.make("Playlist", ["name": "P"])
        try playlist.setObjects(tracks, for: "favourites")
        try playlist.setObjects(tracks, for: "entries")
      }
      let favourites = ToManyKey<Track>("favourites")
      let entries = OrderedToManyKey<Track>("entries")
      let playlist = try context.performAndWait {
        let playlist = try context.one("Playlist")
        try expectEqual([playlist[favourites].count, playlist[entries].count], [2, 2])
        return playlist
      }
      try saver.performAndWait {
        let own = try saver.one("Playlist")
        try expectEqual([own[favourites].count, own[entries].count], [2, 2])
        saver.delete(try saver.one("Track", where: equal("title", "2")))
        try saver.save()
        try expectEqual([own[favourites].count, own[entries].count], [1, 1], "the lists of the deleting context")
      }
      try context.performAndWait {
        try expectEqual(
          [playlist[favourites].count, playlist[entries].count], [1, 1], "the lists of the following context")
      }
    }
    Case("an object of a deleted record leaves its context after the first read") { stack in
      let id = try deletedID("Track", ["title": "T"], stack)
      let context = stack.context()
      let track = try context.performAndWait {
        let track = try unwrap(context.object(with: id) as? Track)
        try expectEqual(track.title, "", "the title of a deleted object")
        return track
      }
      try context.performAndWait {
        try expect(track.isDeleted && track.managedObjectContext == nil, "a deleted object")
        try expect(context.registeredObject(with: id) == nil, "no registered object")
      }
    }
    Case("a record newer than a unit of work does not count as deleted") { stack in
      let context = stack.context()
      let fault = try context.performAndWait {
        // From here on the unit of work reads this state.
        try expectEqual(try context.number(of: "Genre"), 0)
        let id = try stack.write { other in
          let genre = try other.make("Genre", ["name": "new"])
          try other.obtainPermanentIDs(for: [genre])
          return genre.objectID
        }
        let fault = context.object(with: id)
        _ = try? fault.load()
        return fault
      }
      try context.performAndWait {
        try expectEqual(try fault.label, "new")
        try expect(!fault.isDeleted && !fault.isUnavailable, "an object like any other")
      }
    }
    Case("an object can be loaded again after its parent rolls back the delete") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let genre = try parent.one("Genre")
        let fault = child.performAndWait { child.object(with: genre.objectID) }
        parent.delete(genre)
        try child.performAndWait { try expectThrows(oneOf: [.objectNotFound, .objectDeleted]) { try fault.load() } }
        parent.rollback()
        try child.performAndWait { try expectEqual(try fault.label, "Jazz") }
      }
    }
  }

  @CasesBuilder private static var saves: [Case] {
    Case("an unreadable object does not keep other objects from being saved") { stack in
      let id = try deletedID("Album", ["title": "A"], stack)
      try stack.read { context in
        let album = try unwrap(context.object(with: id) as? Album)
        try expectEqual(album.title, "")
        try expect(album.isUnavailable && !context.reportedErrors.isEmpty, "the failure to be reported")
        try context.make("Genre", ["name": "Jazz"])
        try context.save()
        try expect(context.reportedErrors.isEmpty, "no reports after a save")
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("a lost change refuses the save with its own code until the object is refreshed") { stack in
      let id = try deletedID("Album", ["title": "A"], stack)
      try stack.read { context in
        let album = try unwrap(context.object(with: id) as? Album)
        try context.make("Genre", ["name": "Jazz"])
        album.title = "B"
        let error = try expectThrows(.recordVanished) { try context.save() }
        try expectEqual(error.objectIDs, [id])
        try expect(error.message.contains("reportedErrors"), "the message to say where to look")
        context.refresh(album, mergeChanges: true)
        try expect(album.isDeleted, "the object to be known as deleted")
        try expect(context.reportedErrors.isEmpty, "no reports after a refresh")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("a save with a relationship to a deleted object is refused with its own code, and other edits are kept") {
      stack in
      let (context, album) = try heldAlbum(stack)
      let id = try deletedID("Track", ["title": "T"], stack)
      try context.performAndWait {
        album.title = "edited"
        let track = try unwrap(context.object(with: id) as? Track)
        album.tracks.append(track)
        let report = try unwrap(context.reportedErrors.first as? CoherenceError)
        try expectEqual(report.objectIDs, [id])
        try expect(report.message.contains("'Track' does not exist"), "the entity of the deleted object to be named")
        try expect(
          report.message.contains("an object of 'Album' ignored"), "the entity of the edited object to be named")
        try expectThrows(.recordVanished) { try context.save() }
        context.refresh(album, mergeChanges: true)
        context.refresh(track, mergeChanges: true)
        try expectEqual(album.title, "edited")
        try context.save()
      }
      try stack.read { context in
        let stored = try context.one("Album")
        try expectEqual(try stored.label, "edited")
        try expectEqual(try stored.labels(of: "tracks"), ["1", "2", "3"])
      }
    }
    Case("a relationship to a deleted object is refused and leaves both sides unchanged") { stack in
      let id = try deletedID("Genre", ["name": "gone"], stack)
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        let genre = try context.one("Genre")
        let gone = context.object(with: id)
        try expectThrows(oneOf: [.objectNotFound, .objectDeleted]) { try genre.setObject(gone, for: "parent") }
        try expect(try genre.object(for: "parent") == nil && !genre.hasChanges, "nothing to be changed")
      }
    }
    Case("deleting a deleted object is no failure") { stack in
      let id = try deletedID("Album", ["title": "A"], stack)
      try stack.read { context in
        context.delete(context.object(with: id))
        try expect(context.reportedErrors.isEmpty, "nothing to be reported")
        try context.make("Genre", ["name": "Jazz"])
        try context.save()
      }
    }
    Case("a refused save names every object that it depends on, and the reports have the code of vanished records") {
      stack in
      let ids = try ["A", "B", "C"].map { try deletedID("Album", ["title": $0], stack) }
      try stack.read { context in
        let albums = try ids.map { try unwrap(context.object(with: $0) as? Album) }
        albums[0].title = "X"
        albums[1].title = "Y"
        try expectEqual(albums[2].title, "")
        let codes = context.reportedErrors.map { ($0 as? CoherenceError)?.code }
        try expectEqual(codes, [.recordVanished, .recordVanished, .recordVanished])
        let error = try expectThrows(.recordVanished) { try context.save() }
        try expectEqual(Set(error.objectIDs), Set(ids.prefix(2)))
        context.rollback()
        try context.make("Genre", ["name": "Jazz"])
        try context.save()
      }
    }
    Case("a value that its type refuses keeps the save from passing") { stack in
      try stack.read { context in
        let album = try Album(context: context)
        album.title = "with \0"
        try expectThrows(.validationFailed) { try context.save() }
        album.title = "without"
        context.refresh(album, mergeChanges: true)
        try context.save()
      }
    }
  }

  @CasesBuilder private static var reports: [Case] {
    Case("a deleted object is reported once, for any number of reads") { stack in
      let id = try deletedID("Album", ["title": "A"], stack)
      try stack.read { context in
        let album = try unwrap(context.object(with: id) as? Album)
        for _ in 0..<500 { try expectEqual(album.title, "") }
        try expectEqual(context.reportedErrors.count, 1, "the number of reports")
      }
    }
    Case("failures of accessors are reported at most a hundred times") { stack in
      let ids = try stack.write { context in
        let tracks = try (0..<150).map { try context.make("Track", ["title": "\($0)"]) }
        try context.obtainPermanentIDs(for: tracks)
        return tracks.map(\.objectID)
      }
      try stack.write { context in for track in try context.all("Track") { context.delete(track) } }
      try stack.read { context in
        let tracks = ids.compactMap { context.object(with: $0) as? Track }
        for track in tracks { try expectEqual(track.title, "") }
        try expectEqual(context.reportedErrors.count, 100, "the number of reports")
      }
    }
  }
}
