import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let snapshots = ConformanceSubject("Snapshots of records") {
    reading
    unsaved
    inserting
    applying
    coding
  }

  private static func fill(_ context: ManagedObjectContext) throws {
    try Music.fill(context)
    for year in 0..<10 { try context.make("Album", ["title": "Year \(year)", "year": Int32(2100 + year)]) }
  }

  private static let byYear = [SortKey("year", .reverse), SortKey("title")]

  /// Fails unless the snapshots of a request are those of its objects, in their order.
  private static func expectSnapshots(_ request: FetchRequest<Album>, in context: ManagedObjectContext) throws {
    let snapshots = try context.snapshots(of: request)
    let albums = try context.fetch(request)
    try expectEqual(snapshots, try albums.map { try $0.snapshot() }, "the snapshots")
    try expectEqual(snapshots.map(\.objectID), albums.map(\.objectID), "the identifiers")
    try expectEqual(snapshots.map(\.title), albums.map(\.title), "the titles")
    try expectEqual(snapshots.map(\.price), albums.map { $0[Album.priceKey] }, "the prices")
    try expectEqual(snapshots.map(\.artist), albums.map { $0[Album.artistKey]?.objectID }, "the artists")
  }

  @CasesBuilder private static var reading: [Case] {
    Case("snapshots have the values of the fetched objects, in the order and range of the request") { stack in
      try stack.write { try fill($0) }
      for (limit, offset) in [(nil, 0), (3, 0), (4, 7), (100, 12), (0, 0)] as [(Int?, Int)] {
        var request = FetchRequest(Album.self)
        request.sortKeys = byYear
        request.fetchLimit = limit
        request.fetchOffset = offset
        // Snapshots first: the context has no objects then.
        let count = try stack.read { context in
          let snapshots = try context.snapshots(of: request)
          try expectEqual(context.registeredObjects.count, 0, "the objects made for snapshots")
          try expectSnapshots(request, in: context)
          return snapshots.count
        }
        try expectEqual(count, min(max(18 - offset, 0), limit ?? 18), "the number of snapshots")
      }
    }
    Case("snapshots that the store reads equal those that Core copies from its rows") { stack in
      try stack.write { try fill($0) }
      var request = FetchRequest(Album.self)
      request.sortKeys = byYear
      let direct = try stack.read { try $0.snapshots(of: request).map(\.title) }
      // The cursors of an interposed store return rows only.
      _ = try stack.interpose()
      try expectEqual(try stack.read { try $0.snapshots(of: request).map(\.title) }, direct, "the titles")
      try expectEqual(direct.count, 18, "the number of snapshots")
    }
    Case("snapshots of a parent entity include the records of subentities") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        var request = FetchRequest(Performer.self)
        request.sortKeys = [SortKey("name")]
        let names = ["Abba", "Björk", "Can", "Ella", "Miles", "nina"]
        try expectEqual(try context.snapshots(of: request).map(\.name), names, "the names")
        var artists = FetchRequest(Artist.self)
        artists.sortKeys = [SortKey("name")]
        let snapshots = try context.snapshots(of: artists, as: ArtistValues.self)
        try expectEqual(snapshots.map(\.name), ["Björk", "Ella", "Miles", "nina"], "the names of artists")
        let ella = try context.one("Legend").objectID
        try expectEqual(snapshots.map(\.mentor), [nil, nil, nil, ella], "the mentors")
        artists.includesSubentities = false
        let plain = try context.snapshots(of: artists, as: PerformerValues.self)
        try expectEqual(plain.map(\.name), ["Björk", "Miles", "nina"], "the names without subentities")
      }
    }
    Case("snapshots are read from every store that holds the entity") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for (index, title) in ["d", "a", "c", "b"].enumerated() {
          try context.assign(try context.make("Album", ["title": title]), to: stores[index % 2])
        }
        try context.save()
        context.reset()
        var request = FetchRequest(Album.self)
        request.sortKeys = [SortKey("title", .reverse)]
        request.fetchLimit = 3
        let snapshots = try context.snapshots(of: request)
        try expectEqual(snapshots.map(\.title), ["d", "c", "b"], "the titles")
        try expectEqual(try context.fetchIDs(request), snapshots.compactMap(\.objectID), "the identifiers")
        let ids = try context.fetchIDs(request).reversed()
        let albums = try context.objects(for: Array(ids), as: Album.self)
        try expectEqual(albums.map(\.title), ["b", "c", "d"], "the titles of the objects")
      }
    }
    Case("a snapshot type of another entity is refused") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        try expectThrows(.snapshotMismatch) {
          try context.snapshots(of: FetchRequest(Performer.self), as: ArtistValues.self)
        }
        try expectThrows(.snapshotMismatch) {
          try context.snapshots(of: FetchRequest(Album.self), as: PerformerValues.self)
        }
      }
    }
  }

  @CasesBuilder private static var unsaved: [Case] {
    Case("snapshots show unsaved changes as a fetch does") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        var request = FetchRequest(Album.self)
        request.predicate = compare("year", .greaterOrEqual, 2100)
        request.sortKeys = byYear
        try context.one("Album", where: equal("title", "Year 3")).setValue("Fresh title", for: "title")
        try context.one("Album", where: equal("title", "Year 4")).setValue(Int32(1900), for: "year")
        context.delete(try context.one("Album", where: equal("title", "Year 5")))
        let fresh = try context.make("Album", ["title": "Unsaved", "year": Int32(2105)])
        try expectSnapshots(request, in: context)
        let snapshots = try context.snapshots(of: request)
        let titles = ["Year 9", "Year 8", "Year 7", "Year 6", "Unsaved", "Fresh title", "Year 2", "Year 1", "Year 0"]
        try expectEqual(snapshots.map(\.title), titles, "the titles")
        let temporary = try unwrap(snapshots[4].objectID, "the identifier of an unsaved record")
        try expect(temporary.isTemporaryID, "a temporary identifier")
        try context.save()
        try expectEqual(context.object(with: temporary), fresh)
        var saved = request
        saved.includesPendingChanges = false
        try expectEqual(try context.snapshots(of: saved).map(\.title), titles, "the titles after the save")
      }
    }
    Case("the temporary identifier of a target in a snapshot finds its object after the save") { stack in
      try stack.read { context in
        let band = try context.make("Band", ["name": "Can"])
        try context.make("Album", ["title": "A"]).setObject(band, for: "artist")
        let snapshots = try context.snapshots(of: FetchRequest(Album.self))
        let target = try unwrap(snapshots.first?.artist, "the identifier of the target")
        try context.save()
        try expectEqual(context.object(with: target), band)
      }
    }
    Case("identifiers are fetched in the order of the request, and objects in the order of identifiers") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        var request = FetchRequest(Album.self)
        request.sortKeys = byYear
        try context.make("Album", ["title": "Unsaved", "year": Int32(3000)])
        let ids = try context.fetchIDs(request)
        try expectEqual(ids, try context.fetch(request).map(\.objectID), "the identifiers")
        try expectEqual(ids.count, 19, "the number of identifiers")
        let deleted = try context.one("Album", where: equal("title", "Year 5"))
        context.delete(deleted)
        let wanted: [ManagedObjectID] = ids.reversed() + [ids[3]]
        let expected = wanted.filter { $0 != deleted.objectID }
        let albums = try context.objects(for: wanted, as: Album.self)
        try expectEqual(albums.map(\.objectID), expected, "the identifiers of the objects")
        try expect(albums.allSatisfy { !$0.isFault }, "loaded objects")
        try expectThrows(.wrongType) { try context.objects(for: ids, as: Track.self) }
        try expectEqual(try context.objects(for: [ManagedObjectID]()).count, 0, "no objects")
      }
    }
    Case("objects for thousands of identifiers leave out records that another writer deleted") { stack in
      let ids = try stack.write { context in
        let genres = try (0..<5_000).map { try context.make("Genre", ["name": "\($0)"]) }
        try context.obtainPermanentIDs(for: genres)
        return genres.map(\.objectID)
      }
      try stack.write { context in context.delete(try context.existingObject(with: ids[4_321])) }
      try stack.read { context in
        let genres = try context.objects(for: ids)
        var expected = ids
        expected.remove(at: 4_321)
        try expectEqual(genres.map(\.objectID), expected, "the identifiers")
        try expectEqual(try genres.last.map { try $0.label }, "4999", "the name of the last genre")
      }
    }
  }

  @CasesBuilder private static var inserting: [Case] {
    Case("an inserted snapshot is saved with its values and its target") { stack in
      try stack.write { try fill($0) }
      let id = try stack.write { context in
        let band = try context.one("Band", where: equal("name", "Can"))
        var values = AlbumValues(title: "Future Days", year: 1973, artist: band.objectID)
        values.format = .file
        let album = try context.insert(values)
        try expect(album.isInserted, "an inserted object")
        try context.obtainPermanentIDs(for: [album])
        return album.objectID
      }
      try stack.read { context in
        let album: Album = try context.existing(id)
        try expectEqual(album.title, "Future Days")
        try expectEqual(album[Album.formatKey], .file)
        try expectEqual(album[Album.artistKey]?.name, "Can")
        try expectEqual(try album.snapshot().year, 1973)
      }
    }
    Case("an insert of a snapshot that does not fit inserts nothing") { stack in
      try stack.write { try fill($0) }
      let (album, gone) = try stack.write { context in
        let band = try context.make("Band", ["name": "Gone"])
        try context.obtainPermanentIDs(for: [band])
        return (try context.snapshots(of: FetchRequest(Album.self).limit(1))[0], band.objectID)
      }
      try stack.write { context in context.delete(try context.existingObject(with: gone)) }
      try stack.read { context in
        try expectThrows(.objectExists) { try context.insert(album) }
        try expectThrows(.objectNotFound) { try context.insert(AlbumValues(title: "A", artist: gone)) }
        try expectThrows(.wrongType) { try context.insert(AlbumValues(title: "A", artist: album.objectID)) }
        try expectThrows(.snapshotMismatch) { try context.insert(AlbumValues(objectID: gone, title: "A")) }
        try expectThrows(.invalidValue) { try context.insert(AlbumValues(title: "A\u{0}")) }
        try expect(!context.hasChanges, "no unsaved change")
        var copy = album
        copy.objectID = nil
        let inserted = try context.insert(copy)
        var values = try inserted.snapshot()
        try expect(values.objectID != album.objectID, "an identifier of its own")
        values.objectID = album.objectID
        try expectEqual(values, album, "the values of the copy")
      }
    }
  }

  @CasesBuilder private static var applying: [Case] {
    Case("an applied snapshot writes the values that differ and no other") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let album: Album = try context.existing(
          try context.one("Album", where: equal("title", "Tago Mago")).objectID)
        var values = try album.snapshot()
        try album.apply(values)
        try expect(!context.hasChanges, "no change by the object's own snapshot")
        values.year = 1972
        values.artist = nil
        try album.apply(values)
        try expectEqual(Set(album.changedValues().keys), ["year", "artist"], "the changed properties")
        try expectEqual(try context.one("Band", where: equal("name", "Can")).labels(of: "albums"), [])
        try context.save()
        try expectEqual(try album.snapshot(), values, "the snapshot after the save")
      }
    }
    Case("a snapshot that does not fit leaves the object unchanged") { stack in
      try stack.write { try fill($0) }
      try stack.read { context in
        let albums = try context.fetch(FetchRequest(Album.self).limit(2))
        try expectThrows(.snapshotMismatch) { try albums[0].apply(try albums[1].snapshot()) }
        try expectThrows(.snapshotMismatch) {
          try albums[0].apply(try PerformerValues(try context.fetch(FetchRequest(Performer.self))[0]))
        }
        var values = try albums[0].snapshot()
        values.title = "Other"
        values.artist = albums[1].objectID
        try expectThrows(.wrongType) { try albums[0].apply(values) }
        try expect(!context.hasChanges, "no unsaved change")
      }
    }
  }

  @CasesBuilder private static var coding: [Case] {
    Case("a coded snapshot and its identifiers come back after the store was opened again") { stack in
      try stack.write { try fill($0) }
      var request = FetchRequest(Album.self)
      request.sortKeys = byYear
      let (data, count) = try stack.read { context in
        let snapshots = try context.snapshots(of: request)
        return (try JSONEncoder().encode(snapshots), snapshots.count)
      }
      try stack.reopen()
      try stack.read { context in
        let decoder = JSONDecoder()
        decoder.userInfo[.persistentStoreCoordinator] = stack.coordinator
        let snapshots = try decoder.decode([AlbumValues].self, from: data)
        try expectEqual(snapshots, try context.snapshots(of: request), "the snapshots")
        try expectEqual(snapshots.count, count, "the number of snapshots")
        let ids = snapshots.compactMap(\.objectID)
        try expectEqual(try context.objects(for: ids, as: Album.self).map(\.title), snapshots.map(\.title))
      }
    }
    Case("identifiers of other stores and temporary identifiers are refused by name") { stack in
      let text = try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try expectThrows(.invalidIdentifier) { try StoredObjectID(album.objectID) }
        try expectThrows(.invalidIdentifier) { try JSONEncoder().encode([album.objectID]) }
        try context.save()
        return try StoredObjectID(album.objectID).description
      }
      let id = try stack.coordinator.objectID(for: try StoredObjectID(text: text))
      try stack.read { try expectEqual(try $0.existingObject(with: id).label, "A") }
      let elsewhere = try StoredObjectID(text: "x-coherence://elsewhere/Album/p1")
      try expectThrows(.storeDetached) { try stack.coordinator.objectID(for: elsewhere) }
      let store = try stack.store.identifier.rawValue
      let unknown = try StoredObjectID(text: "x-coherence://\(store)/Sculpture/p1")
      try expectThrows(.unknownEntity) { try stack.coordinator.objectID(for: unknown) }
      for garbage in ["", "p1", text + "/", text + "x", "x-coherence://\(store)/Album/p+1", " " + text] {
        try expectThrows(.invalidIdentifier) { try StoredObjectID(text: garbage) }
      }
    }
  }
}
