import CoherenceCore

extension ConformanceSubject {
  /// The first of several inputs is valid, a later one invalid.
  static let everyInput = ConformanceSubject("Every input") {
    conditions
    requests
    severalObjects
  }

  private static func refused(
    _ what: String, _ codes: ErrorCode..., body: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case("\(what) is refused even if the first is valid") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        _ = try expectThrows(oneOf: codes) { try body(context) }
        try expect(!context.hasChanges, "no change")
      }
    }
  }

  private static let good = equal("title", "Debut")
  private static let unknown = equal("nonsense", 1)

  @CasesBuilder private static var conditions: [Case] {
    refused("a second part of a conjunction", .unknownProperty) {
      _ = try $0.all("Album", where: .and([good, unknown]))
    }
    refused("a second part of a disjunction", .unknownProperty) {
      _ = try $0.all("Album", where: .or([good, unknown]))
    }
    refused("a negated second part", .unknownProperty) {
      _ = try $0.all("Album", where: .and([good, .not(unknown)]))
    }
    refused("a part of a condition on members", .unknownProperty) {
      _ = try $0.all("Album", where: .and([good, members(.any, "tracks", .and([good, unknown]))]))
    }
    refused("a second value of a list", .invalidPredicate) {
      _ = try $0.all("Album", where: among("year", [1993, "x"]))
    }
    refused("an upper bound", .invalidPredicate) { _ = try $0.all("Album", where: between("year", 1990, "x")) }
    refused("a right operand", .unknownProperty) {
      _ = try $0.all(
        "Album", where: .comparison(.path(PropertyPath("title")), .equal, .path(PropertyPath("nonsense"))))
    }
  }

  @CasesBuilder private static var requests: [Case] {
    refused("a second sort key", .unknownProperty) {
      _ = try $0.all("Album", sort: [SortKey("title"), SortKey("nonsense")])
    }
    refused("a second sort key of several members", .invalidPredicate, .invalidFetchRequest) {
      _ = try $0.all("Album", sort: [SortKey("title"), SortKey("tracks.title")])
    }
    refused("a second relationship to prefetch", .unknownProperty, .invalidFetchRequest) {
      var request = FetchRequest<ManagedObject>(entityName: "Album")
      request.relationshipsForPrefetching = ["tracks", "nonsense"]
      _ = try $0.fetch(request)
    }
    refused("a second relationship to load", .unknownProperty, .invalidFetchRequest) {
      try $0.all("Album")[0].load(relationships: ["tracks", "nonsense"])
    }
    Case("one invalid value of a batch update leaves all records unchanged") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.read { context in
        // The values of a dictionary have no order, so the bad one takes every name.
        for name in ["title", "year", "price", "isLive"] {
          var request = BatchUpdateRequest(
            entityName: "Album", values: ["title": "B", "year": 2, "price": decimal("2"), "isLive": true])
          request.values[name] = .uuid(.attributeDefault)
          try expectThrows(.wrongType) { try context.execute(request) }
        }
        try expectEqual(try context.one("Album").version, 1)
      }
    }
  }

  @CasesBuilder private static var severalObjects: [Case] {
    refused("a second member of another entity", .wrongType) { context in
      let album = try context.one("Album", where: good)
      let genres = try context.all("Genre")
      try album.setObjects([genres[0], album], for: "genres")
    }
    Case("a record that violates uniqueness keeps the valid records of its save out too") { stack in
      try stack.write { try $0.make("Genre", ["name": "taken"]) }
      try stack.read { context in
        for name in ["free", "taken"] { try context.make("Genre", ["name": name]) }
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["taken"]) }
    }
    Case("every invalid object of a save is named") { stack in
      try stack.read { context in
        let albums = try (0..<3).map { _ in try context.make("Album") }
        try context.make("Album", ["title": "good"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(Set(error.failures.map(\.objectID)), Set(albums.map(\.objectID)))
      }
    }
    Case("each of several objects gets its permanent identifier") { stack in
      try stack.read { context in
        let albums = try ["A", "B", "C"].map { try context.make("Album", ["title": $0]) }
        try context.obtainPermanentIDs(for: albums)
        try expect(albums.allSatisfy { !$0.objectID.isTemporaryID }, "permanent identifiers")
      }
    }
  }
}
