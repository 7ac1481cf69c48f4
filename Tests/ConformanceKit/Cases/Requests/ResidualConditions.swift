import CoherenceCore

extension ConformanceSubject {
  /// The reads of conditions that a store leaves to the context. A store that evaluates the conditions itself passes
  /// with one read.
  static let residualConditions = ConformanceSubject("Residual conditions") {
    paths
    orders
    memberValues
    ownValues
  }

  /// Saves 1,000 albums of 100 artists, with a track each.
  private static func fill(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let artists = try (0..<100).map { try context.make("Artist", ["name": "artist \($0)"]) }
      for index in 0..<1_000 {
        let album = try context.make("Album", ["title": "\(index)", "year": 1900 + index % 100])
        try album.setObject(artists[index % artists.count], for: "artist")
        try context.make("Track", ["title": "\(index)"]).setObject(album, for: "album")
      }
    }
  }

  /// The greatest number of reads: one for the records, and a few for the records at the ends of their paths.
  private static let bound = 20

  /// A case for a condition over a path, with the number of found records.
  private static func found(
    _ sentence: String, _ entity: String, _ found: Int, where predicate: FetchPredicate, sort: [SortKey] = []
  ) -> Case {
    Case(sentence) { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = predicate
        request.sortKeys = sort
        try expectEqual(try context.fetchIDs(request).count, found, "the number of found records")
      }
      let fetched = interposition.fetchCount
      try expect(fetched <= bound, "at most \(bound) reads of a fetch, found \(fetched)")
      try stack.read { context in
        try expectEqual(try context.number(of: entity, where: predicate), found, "the count")
      }
      let counted = interposition.fetchCount - fetched
      try expect(counted <= bound, "at most \(bound) reads of a count, found \(counted)")
    }
  }

  @CasesBuilder private static var paths: [Case] {
    found(
      "a pattern for values of to-one targets reads the targets of many records at once", "Album", 450,
      where: compare("artist.name", .matches, "artist [0-4].*"))
    found(
      "a pattern at the end of two to-one relationships reads each level for many records at once", "Track", 450,
      where: compare("album.artist.name", .matches, "artist [0-4].*"))
    found(
      "a comparison without case with values of to-one targets reads the targets of many records at once", "Album", 10,
      where: compare("artist.name", .equal, "ARTIST 7", .caseInsensitive))
    found(
      "a pattern for to-one targets beside a condition of the store reads the targets of the found records at once",
      "Album", 260,
      where: compare("year", .less, 1950) && .not(compare("artist.name", .matches, "artist ([1-4]|[1-2].)")))
    found(
      "a list of alternatives with a pattern for to-one targets reads the targets of many records at once", "Album",
      451,
      where: .or([compare("artist.name", .matches, "artist [0-4].*"), equal("title", "999")]))
  }

  @CasesBuilder private static var orders: [Case] {
    found(
      "a pattern and an order without case over a path read the targets of many records at once", "Album", 450,
      where: compare("artist.name", .matches, "artist [0-4].*"),
      sort: [SortKey("artist.name", options: .caseInsensitive), SortKey("title")])
    Case("a stream by a pattern for to-one targets reads the targets of many records at once") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      let request = streamed(compare("album.artist.name", .matches, "artist [0-4].*"))
      let context = stack.context()
      let snapshots = try await collect(context.stream(request, unreadLimit: .seconds(3600)))
      try expectEqual(snapshots.count, 450, "the number of streamed records")
      try expect(interposition.fetchCount <= bound, "at most \(bound) reads, found \(interposition.fetchCount)")
    }
    Case("an aggregate of records by a pattern for to-one targets reads the targets of many records at once") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      try stack.read { context in
        let pattern = compare("artist.name", .matches, "artist [0-4].*")
        try expectEqual(
          try context.table(aggregate("Album", [.count, .minimum(of: "year")], where: pattern)), ["450 | 1900"])
      }
      try expect(interposition.fetchCount <= bound, "at most \(bound) reads, found \(interposition.fetchCount)")
    }
  }

  // MARK: Values of members

  /// A condition that all saved albums fulfil: each album has one track.
  private static let hasOneTrack = FetchPredicate.comparison(
    .subquery(PropertyPath("tracks"), compare("title", .matches, ".*")), .equal, .value(.int(1)))

  @CasesBuilder private static var memberValues: [Case] {
    found(
      "a number of members that match a pattern reads the members of many records at once", "Album", 1_000,
      where: hasOneTrack)
    found(
      "a number of members beside a pattern reads the members of many records at once", "Album", 100,
      where: memberCount("tracks", .equal, 1) && compare("title", .matches, "1.."))
    found(
      "an average of decimals reads the members of many records at once", "Performer", 100,
      where: equal("albums.@avg.price", nil))
    found(
      "an average of members of a target reads the members of many targets at once", "Track", 1_000,
      where: equal("album.artist.albums.@avg.price", nil))
    found(
      "an order by an average of decimals reads the members of many records at once", "Performer", 100,
      where: compare("name", .beginsWith, "artist"), sort: [SortKey("albums.@avg.price"), SortKey("name")])
    Case("a group key of an average of decimals reads the members of many records at once") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      try stack.read { context in
        let request = aggregate("Performer", by: ["albums.@avg.price"], ["albums.@avg.price", .count])
        try expectEqual(try context.table(request), ["null | 100"])
      }
      try expect(interposition.fetchCount <= bound, "at most \(bound) reads, found \(interposition.fetchCount)")
    }
    Case("a claim by an order of averages reads the members of many records at once") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      try stack.read { context in
        let request = FetchRequest<ManagedObject>(entityName: "Performer").sort("albums.@avg.price").sort("name")
        let claimed = try context.claim(request, limit: 1, set: ["country": "CV"])
        try expectEqual(try claimed.map { try context.existing($0).label }, ["artist 0"])
      }
      try expect(interposition.fetchCount <= bound, "at most \(bound) reads, found \(interposition.fetchCount)")
    }
  }

  // MARK: Values of the record beside values of related records

  /// A condition on the members and on the artist of an album that is true for all saved albums.
  private static var related: FetchPredicate {
    compare("artist.name", .matches, "artist .*") && members(.any, "tracks", compare("title", .matches, ".*"))
  }

  @CasesBuilder private static var ownValues: [Case] {
    Case("a condition on related records reads them only for records that the rest of a conjunction leaves") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      let found = try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.predicate = related && compare("title", .matches, "1..")
        return try context.fetchIDs(request)
      }
      try expectEqual(found.count, 100, "the number of found records")
      let rows = interposition.rowCount
      // The rows of the tracks of the found albums: all tracks, if the store evaluates no conditions.
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Track")
        request.predicate = .membership(.path(PropertyPath("album")), in: found.map(AttributeValue.reference))
        try expectEqual(try context.fetch(request).count, 100)
      }
      let limit = 1_000 + interposition.rowCount - rows
      try expect(rows <= limit, "at most \(limit) rows, found \(rows)")
    }
    Case("a condition on related records reads none of them if the rest of a conjunction leaves no record") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      try stack.read { context in
        try expectEqual(try context.number(of: "Track", where: compare("title", .matches, "none")), 0)
      }
      let alone = interposition.fetchCount
      let condition = compare("album.artist.name", .matches, "artist .*") && compare("title", .matches, "none")
      try stack.read { context in try expectEqual(try context.number(of: "Track", where: condition), 0) }
      try expectEqual(interposition.fetchCount, 2 * alone, "the reads without related records")
    }
    Case("a conjunction with a false constant reads no related records of an unsaved record") { stack in
      try fill(stack)
      let interposition = try stack.interpose()
      let isOfArtist = compare("album.artist.name", .matches, "artist .*")
      func reads(with condition: FetchPredicate) throws -> Int {
        let formerCount = interposition.fetchCount
        try stack.read { context in
          try context.one("Track", where: equal("title", "7")).setValue("changed", for: "title")
          try expectEqual(try context.all("Track", where: isOfArtist && condition).count, 0)
        }
        return interposition.fetchCount - formerCount
      }
      let alone = try reads(with: equal("title", "none"))
      let found = try reads(with: .constant(false))
      try expect(found <= alone, "at most \(alone) reads, found \(found)")
    }
    Case("a malformed pattern in a record's value is an error only if the parts before it are true") { stack in
      try stack.write { context in
        for (name, title, pattern) in [("in", "A", "A|B"), ("out", "B", "(")] {
          let album = try context.make("Album", ["title": title, "barcode": pattern])
          try album.setObject(try context.make("Artist", ["name": name]), for: "artist")
        }
      }
      let wanted = compare("artist.name", .matches, "in")
      let pattern = FetchPredicate.comparison(
        .path(PropertyPath("title")), .matches, .path(PropertyPath("barcode")))
      try stack.read { context in
        try expectEqual(try context.names("Album", where: wanted && pattern), ["A"])
        try expectThrows(.invalidPredicate) { try context.names("Album", where: pattern && wanted) }
      }
    }
  }
}
