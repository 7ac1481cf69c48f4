import CoherenceCore

extension ConformanceSubject {
  static let fetchRequests = ConformanceSubject("Fetch requests") {
    entities
    loading
    large
  }

  @CasesBuilder private static var entities: [Case] {
    Case("a fetch of an entity finds its subentities' records") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try expectEqual(try context.names("Artist"), ["Bj\u{F6}rk", "Ella", "Miles", "nina"])
        try expectEqual(try context.number(of: "Performer"), 6)
        try expectEqual(try context.names("Legend"), ["Ella"])
      }
    }
    Case("a fetch without subentities finds the entity's own records alone") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        for (entity, count) in [("Artist", 3), ("Performer", 0), ("Legend", 1)] {
          var request = FetchRequest<ManagedObject>(entityName: entity)
          request.includesSubentities = false
          try expectEqual(try context.fetch(request).count, count, entity)
          try expectEqual(try context.count(for: request), count, entity)
        }
      }
    }
    Case("a fetch without subentities leaves out unsaved ones of subentities") { stack in
      try stack.read { context in
        try Music.fill(context)
        var request = FetchRequest<ManagedObject>(entityName: "Artist")
        request.includesSubentities = false
        try expectEqual(try context.fetch(request).count, 3)
      }
    }
    Case("a fetch of one entity leaves out its siblings") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { try expectEqual(try $0.names("Band"), ["Abba", "Can"]) }
    }
    Case("a fetch from an empty store finds nothing") { stack in
      try stack.read { context in
        try expectEqual(try context.all("Performer", where: equal("country", "US"), sort: [SortKey("name")]), [])
        try expectEqual(try context.number(of: "Album"), 0)
      }
    }
    Case("the first object of a request is that of its order, range and condition, with unsaved changes") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        var request = FetchRequest(Artist.self)
        request.sortKeys = [SortKey("name")]
        try expectEqual(try context.fetchFirst(request)?.name, "Bj\u{F6}rk")
        request.fetchOffset = 1
        try expectEqual(try context.fetchFirst(request)?.name, "Ella")
        try Artist(context: context).name = "Abbey"
        request.fetchOffset = 0
        try expectEqual(try context.fetchFirst(request)?.name, "Abbey")
        request.fetchLimit = 0
        try expectEqual(try context.fetchFirst(request)?.name, nil, "the first object within a limit of zero")
        request.fetchLimit = -1
        try expectThrows(.invalidFetchRequest) { try context.fetchFirst(request) }
        request.fetchLimit = 5
        request.predicate = equal("name", "Nobody")
        try expectEqual(try context.fetchFirst(request)?.name, nil, "the first object of none")
      }
    }
    Case("a fetch for a class finds objects of the class") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        var request = FetchRequest(Artist.self)
        request.predicate = equal("country", "US")
        request.sortKeys = [SortKey("name")]
        try expectEqual(try context.fetch(request).map(\.name), ["Ella", "Miles", "nina"])
        try expectEqual(try context.count(for: request), 3)
      }
    }
  }

  @CasesBuilder private static var loading: [Case] {
    Case("a fetch returns loaded objects") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let albums = try context.all("Album")
        try expect(albums.allSatisfy { !$0.isFault }, "no faults")
      }
    }
    Case("a fetch of faults returns objects that load with the same values") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.returnsObjectsAsFaults = true
        request.sortKeys = [SortKey("title")]
        let faults = try context.fetch(request)
        try expectEqual(try faults.map { try $0.label }, try context.names("Album", sort: [SortKey("title")]))
      }
    }
    Case("prefetched relationships have the same members as lazy ones") { stack in
      try stack.write { try Music.fill($0) }
      func members(prefetching names: [String]) throws -> [[String]] {
        try stack.read { context in
          var request = FetchRequest<ManagedObject>(entityName: "Album")
          request.sortKeys = [SortKey("title")]
          request.relationshipsForPrefetching = names
          return try context.fetch(request).map { album in
            let artist = try album.object(for: "artist")?.label ?? ""
            return try album.labels(of: "tracks") + album.labels(of: "genres") + [artist]
          }
        }
      }
      try expectEqual(try members(prefetching: ["tracks", "genres", "artist"]), try members(prefetching: []))
    }
    Case("prefetching an unknown relationship is refused") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.relationshipsForPrefetching = ["nonsense"]
        _ = try expectThrows(oneOf: [.unknownProperty, .invalidFetchRequest]) { try context.fetch(request) }
      }
    }
    Case("loaded relationships are those of the store") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "Kind of Blue"))
        try album.load(relationships: ["tracks", "artist"])
        try expectEqual(try album.labels(of: "tracks"), ["So What", "Freddie Freeloader", "Blue in Green"])
        try expectEqual(try album.object(for: "artist")?.label, "Miles")
      }
    }
  }

  @CasesBuilder private static var large: [Case] {
    Case("ten thousand records are saved, found and deleted") { stack in
      try stack.write { context in
        for index in 0..<10_000 { try context.make("Track", ["title": "\(index)", "length": index]) }
      }
      try stack.read { context in
        let tracks = try context.all("Track", sort: [SortKey("length")])
        try expectEqual(tracks.count, 10_000)
        try expectEqual(try tracks[9_999].label, "9999")
        try expectEqual(try context.number(of: "Track", where: compare("length", .less, 5000)), 5000)
      }
      try stack.write { context in
        for track in try context.all("Track", where: compare("length", .greaterOrEqual, 10)) { context.delete(track) }
      }
      try stack.read { try expectEqual(try $0.number(of: "Track"), 10) }
    }
    Case("an owner of a thousand members has them all") { stack in
      try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try album.setObjects(try (0..<1000).map { try context.make("Track", ["title": "\($0)"]) }, for: "tracks")
        let genre = try context.make("Genre", ["name": "G"])
        try genre.setObjects(try (0..<1000).map { try context.make("Album", ["title": "\($0)"]) }, for: "albums")
      }
      try stack.reopen()
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "A"))
        try expectEqual(try album.labels(of: "tracks"), (0..<1000).map(String.init))
        try expectEqual(try context.one("Genre").objects(for: "albums").count, 1000)
      }
    }
  }
}
