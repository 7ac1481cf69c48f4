import CoherenceCore

extension ConformanceSubject {
  static let walks = ConformanceSubject("Walks") {
    few
    kept
    fresh
  }

  // MARK: Few reads

  @CasesBuilder private static var few: [Case] {
    Case("a walk over albums and their tracks reads the tracks of many albums at once") { stack in
      try fill(stack, albums: 300)
      let interposition = try stack.interpose()
      try stack.read { context in
        var labels: [String] = []
        for album in try context.all("Album", sort: [SortKey("title")]) { labels += try album.labels(of: "tracks") }
        try expectEqual(labels, (100..<400).flatMap { album in (0..<3).map { "\(album)-\($0)" } }, "the tracks")
      }
      try expect(interposition.fetchCount <= 4, "at most 4 reads, found \(interposition.fetchCount)")
    }
    Case("a walk over albums and their artists reads the artists of many albums at once") { stack in
      try fill(stack, albums: 300)
      let interposition = try stack.interpose()
      try stack.read { context in
        for (index, album) in try context.all("Album", sort: [SortKey("title")]).enumerated() {
          try expectEqual(try album.object(for: "artist")?.label, "artist \(index % 40)")
        }
      }
      try expect(interposition.fetchCount <= 3, "at most 3 reads, found \(interposition.fetchCount)")
    }
    Case("a walk over albums and their genres reads the genres of many albums at once") { stack in
      try fill(stack, albums: 300)
      let interposition = try stack.interpose()
      try stack.read { context in
        for (index, album) in try context.all("Album", sort: [SortKey("title")]).enumerated() {
          try expectEqual(try album.labels(of: "genres"), ["genre \(index % 5)"])
        }
      }
      try expect(interposition.fetchCount <= 6, "at most 6 reads, found \(interposition.fetchCount)")
    }
    Case("a walk from tracks over albums to artists reads each level for many tracks at once") { stack in
      try fill(stack, albums: 300)
      let interposition = try stack.interpose()
      try stack.read { context in
        for track in try context.all("Track", sort: [SortKey("title")]) {
          let album = try unwrap(try track.object(for: "album"), "an album")
          let (own, title) = (try track.label, try album.label)
          try expect(own.hasPrefix(title), "the album of \(own)")
          let artist = try album.object(for: "artist")?.label
          try expect(artist?.hasPrefix("artist") == true, "the artist of \(title)")
        }
      }
      try expect(interposition.fetchCount <= 7, "at most 7 reads, found \(interposition.fetchCount)")
    }
    Case("a walk in any order finds the members of each owner") { stack in
      try fill(stack, albums: 200)
      let interposition = try stack.interpose()
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        // 77 and 200 have no common divisor, so every album comes once.
        for step in albums.indices {
          let album = albums[step * 77 % albums.count]
          let title = try album.label
          try expectEqual(try album.labels(of: "tracks"), (0..<3).map { "\(title)-\($0)" }, "the tracks of \(title)")
        }
      }
      try expect(interposition.fetchCount <= 8, "at most 8 reads, found \(interposition.fetchCount)")
    }
    Case("a walk with prefetched relationships reads nothing any more") { stack in
      try fill(stack, albums: 150)
      let interposition = try stack.interpose()
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.relationshipsForPrefetching = ["tracks", "genres", "artist"]
        let albums = try context.fetch(request)
        let before = interposition.fetchCount
        for album in albums {
          try expectEqual(try album.labels(of: "tracks").count, 3)
          try expectEqual(try album.labels(of: "genres").count, 1)
          _ = try unwrap(try album.object(for: "artist")?.label, "an artist")
        }
        try expectEqual(interposition.fetchCount - before, 0, "the number of reads after the fetch")
      }
    }
    Case("a prefetch follows a path of relationships") { stack in
      try fill(stack, albums: 50)
      let interposition = try stack.interpose()
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Track")
        request.relationshipsForPrefetching = ["album.artist", "album.genres"]
        let tracks = try context.fetch(request)
        let before = interposition.fetchCount
        try expect(before <= 5, "the tracks and four reads at most, found \(before)")
        for track in tracks {
          let album = try unwrap(try track.object(for: "album"), "an album")
          _ = try unwrap(try album.object(for: "artist")?.label, "an artist")
          try expectEqual(try album.labels(of: "genres").count, 1)
        }
        try expectEqual(interposition.fetchCount - before, 0, "the number of reads after the fetch")
      }
    }
    Case("a path with an unknown relationship is refused, also when nothing is found") { stack in
      try stack.read { context in
        for path in ["album.nonsense", "nonsense.album", "album.title"] {
          var request = FetchRequest<ManagedObject>(entityName: "Track")
          request.relationshipsForPrefetching = [path]
          _ = try expectThrows(oneOf: [.unknownProperty, .invalidFetchRequest]) { try context.fetch(request) }
        }
      }
    }
  }

  // MARK: Kept

  @CasesBuilder private static var kept: [Case] {
    Case("an unheld to-one target is read once in a unit of work") { stack in
      try fill(stack, albums: 1)
      let interposition = try stack.interpose()
      try stack.read { context in
        let album = try context.one("Album")
        for _ in 0..<10 { try expectEqual(try album.object(for: "artist")?.label, "artist 0") }
      }
      try expectEqual(interposition.fetchCount, 2, "the number of reads")
    }
    Case("members that were loaded by `load(relationships:)` are not read again") { stack in
      try fill(stack, albums: 1)
      let interposition = try stack.interpose()
      try stack.read { context in
        let album = try context.one("Album")
        try album.load(relationships: ["tracks", "genres", "artist"])
        let before = interposition.fetchCount
        try expectEqual(try album.labels(of: "tracks"), ["100-0", "100-1", "100-2"])
        try expectEqual(try album.labels(of: "genres"), ["genre 0"])
        try expectEqual(try album.object(for: "artist")?.label, "artist 0")
        try expectEqual(interposition.fetchCount - before, 0, "the number of reads")
      }
    }
    Case("a record read ahead in a walk is one instance") { stack in
      try fill(stack, albums: 20)
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        let first = try albums[0].objects(for: "tracks")
        let last = try albums[19].objects(for: "tracks")
        try expect(try context.one("Track", where: equal("title", "119-2")) === last[2], "the track of the last album")
        try expect(context.object(with: first[0].objectID) === first[0], "the track of the first album")
        try expect(try last[0].object(for: "album") === albums[19], "the album of the track")
      }
    }
    Case("members read ahead show the changes of this context") { stack in
      try fill(stack, albums: 3)
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        let changed = try context.one("Track", where: equal("title", "101-1"))
        try changed.setValue("mine", for: "title")
        let moved = try context.one("Track", where: equal("title", "102-0"))
        try moved.setObject(albums[0], for: "album")
        context.delete(try context.one("Track", where: equal("title", "101-0")))
        try context.processPendingChanges()
        try expectEqual(try albums[0].labels(of: "tracks"), ["100-0", "100-1", "100-2", "102-0"])
        try expectEqual(try albums[1].labels(of: "tracks"), ["mine", "101-2"])
        try expectEqual(try albums[2].labels(of: "tracks"), ["102-1", "102-2"])
      }
    }
    Case("members read ahead show unsaved changes of the parent context") { stack in
      try fill(stack, albums: 3)
      let parent = stack.context()
      try parent.performAndWait {
        try parent.one("Track", where: equal("title", "101-1")).setValue("edited", for: "title")
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        try child.performAndWait {
          let albums = try child.all("Album", sort: [SortKey("title")])
          try expectEqual(try albums[0].labels(of: "tracks"), ["100-0", "100-1", "100-2"])
          try expectEqual(try albums[1].labels(of: "tracks"), ["101-0", "edited", "101-2"])
        }
      }
    }
    Case("a walk that saves after each album finds every member, and reads no more than twice for each") { stack in
      try fill(stack, albums: 40)
      let interposition = try stack.interpose()
      let each = try rowsOfOneAlbum(stack, interposition)
      let (fetches, rows) = (interposition.fetchCount, interposition.rowCount)
      try stack.read { context in
        for album in try context.all("Album", sort: [SortKey("title")]) {
          let title = try album.label
          try expectEqual(try album.labels(of: "tracks"), (0..<3).map { "\(title)-\($0)" }, "the tracks of \(title)")
          try album.setValue(2000, for: "year")
          try context.save()
        }
      }
      let reads = interposition.fetchCount - fetches
      try expect(reads <= 81, "at most 81 reads, found \(reads)")
      // For each of the first 64 albums, the save discards the rows read ahead for the others.
      let found = interposition.rowCount - rows
      try expect(found <= 40 * each * 5, "few rows read in vain, found \(found)")
    }
  }

  // MARK: Fresh

  @CasesBuilder private static var fresh: [Case] {
    Case("an unheld target is read again by the next unit of work") { stack in
      try fill(stack, albums: 1)
      let other = try stack.anotherCoordinator()
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album")
        try expectEqual(try album.object(for: "artist")?.label, "artist 0")
        return album
      }
      try rename("Artist", "name", to: "new", through: other)
      try context.performAndWait { try expectEqual(try album.object(for: "artist")?.label, "new") }
    }
    Case("members read ahead but not used are read again by the next unit of work") { stack in
      try fill(stack, albums: 2)
      let other = try stack.anotherCoordinator()
      let context = stack.context()
      let albums = try context.performAndWait {
        let albums = try context.all("Album", sort: [SortKey("title")])
        try expectEqual(try albums[0].labels(of: "tracks").count, 3)
        return albums
      }
      let stranger = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other)
      try stranger.performAndWait {
        let album = try stranger.one("Album", where: equal("title", "101"))
        try stranger.make("Track", ["title": "101-3"]).setObject(album, for: "album")
        try stranger.one("Track", where: equal("title", "101-0")).setValue("new", for: "title")
        try stranger.save()
      }
      try context.performAndWait {
        try expectEqual(Set(try albums[1].labels(of: "tracks")), ["new", "101-1", "101-2", "101-3"])
      }
    }
    Case("members read after a save in a walk show the save") { stack in
      try fill(stack, albums: 2)
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try expectEqual(try albums[0].labels(of: "tracks").count, 3)
        try context.make("Track", ["title": "101-3"]).setObject(albums[1], for: "album")
        try context.save()
        try expectEqual(Set(try albums[1].labels(of: "tracks")), ["101-0", "101-1", "101-2", "101-3"])
      }
    }
    Case("a snapshot shows no record from before the snapshot, unless its object is held") { stack in
      try fill(stack, albums: 1)
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.object(for: "artist")?.label, "artist 0")
        try rename("Artist", "name", to: "new", through: other)
        try context.withSnapshot { try expectEqual(try album.object(for: "artist")?.label, "new") }
      }
    }
    Case("members read ahead and deleted here are no members") { stack in
      try fill(stack, albums: 2)
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try expectEqual(try albums[0].labels(of: "tracks").count, 3)
        context.delete(try context.one("Track", where: equal("title", "101-1")))
        try context.save()
        try expectEqual(try albums[1].labels(of: "tracks"), ["101-0", "101-2"])
      }
    }
  }

  /// The number of rows that the store returns for the tracks of one album: all rows, if it does not evaluate
  /// predicates.
  private static func rowsOfOneAlbum(_ stack: ConformanceStack, _ interposition: Interposition) throws -> Int {
    try stack.read { context in
      let album = try context.one("Album", where: equal("title", "100"))
      let before = interposition.rowCount
      _ = try album.objects(for: "tracks")
      return interposition.rowCount - before
    }
  }

  // MARK: Records

  /// Saves albums titled 100 onwards, each with three tracks, one of 40 artists and one of five genres.
  private static func fill(_ stack: ConformanceStack, albums: Int) throws {
    try stack.write { context in
      let artists = try (0..<min(40, albums)).map { try context.make("Artist", ["name": "artist \($0)"]) }
      let genres = try (0..<min(5, albums)).map { try context.make("Genre", ["name": "genre \($0)"]) }
      for index in 0..<albums {
        let title = 100 + index
        let album = try context.make("Album", ["title": "\(title)"])
        try album.setObject(artists[index % artists.count], for: "artist")
        try album.setObjects([genres[index % genres.count]], for: "genres")
        try album.setObjects(try (0..<3).map { try context.make("Track", ["title": "\(title)-\($0)"]) }, for: "tracks")
      }
    }
  }

  /// Changes the one record of an entity as another process would.
  private static func rename(
    _ entity: String, _ attribute: String, to value: String, through coordinator: PersistentStoreCoordinator
  ) throws {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      try context.one(entity).setValue(value, for: attribute)
      try context.save()
    }
  }
}
