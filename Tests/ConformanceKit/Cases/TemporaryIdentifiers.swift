import CoherenceCore

extension ConformanceSubject {
  /// An identifier that a program kept from before the save finds the same record after it.
  static let temporaryIdentifiers = ConformanceSubject("Temporary identifiers") {
    requests
    forms
  }

  /// Saves two artists with an album each, and runs a block with the identifier that the first had before.
  private static func saved(
    _ stack: ConformanceStack, _ body: (ManagedObjectContext, ManagedObjectID) throws -> Void
  ) throws {
    try stack.read { context in
      let artists = try ["Miles", "Nina"].map { try context.make("Artist", ["name": $0]) }
      for (title, artist) in zip(["A", "B"], artists) {
        try context.make("Album", ["title": title]).setObject(artist, for: "artist")
      }
      let temporary = artists[0].objectID
      try context.save()
      try expect(artists[0].objectID != temporary, "another identifier after the save")
      try body(context, temporary)
    }
  }

  @CasesBuilder private static var requests: [Case] {
    Case("a fetch and a count by a former identifier find the record") { stack in
      try saved(stack) { context, former in
        try expectEqual(try context.names("Album", where: refers("artist", to: former)), ["A"])
        try expectEqual(try context.number(of: "Album", where: refers("artist", to: former)), 1)
      }
    }
    Case("a batch update by a former identifier changes the record") { stack in
      try saved(stack) { context, former in
        let request = BatchUpdateRequest(
          entityName: "Album", predicate: refers("artist", to: former), values: ["year": 1959])
        try expectEqual(try context.execute(request).count, 1)
      }
      try stack.read { try expectEqual(try $0.names("Album", where: equal("year", 1959)), ["A"]) }
    }
    Case("a batch delete by a former identifier deletes the record") { stack in
      try saved(stack) { context, former in
        let request = BatchDeleteRequest(entityName: "Album", predicate: refers("artist", to: former))
        try expectEqual(try context.execute(request).count, 1)
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
  }

  private static func found(
    _ form: String, _ names: [String], of entity: String = "Album",
    by predicate: @escaping @Sendable (ManagedObjectID) -> FetchPredicate
  ) -> Case {
    Case("a former identifier \(form) means the record") { stack in
      try saved(stack) { context, former in
        try expectEqual(try context.names(entity, where: predicate(former)), names)
      }
    }
  }

  @CasesBuilder private static var forms: [Case] {
    found("on the left side", ["A"]) { .comparison(.value(.reference($0)), .equal, .path(PropertyPath("artist"))) }
    found("in a list", ["A"]) { .membership(.path(PropertyPath("artist")), in: [.reference($0)], []) }
    found("in a negation", ["B"]) { .not(refers("artist", to: $0)) }
    found("in the second part of a conjunction", ["A"]) {
      .and([compare("title", .less, "Z"), refers("artist", to: $0)])
    }
    found("in the second part of a disjunction", ["A", "B"]) {
      .or([equal("title", "B"), refers("artist", to: $0)])
    }
    found("in a condition on members", ["Miles"], of: "Artist") { members(.any, "albums", refers("artist", to: $0)) }
  }
}
