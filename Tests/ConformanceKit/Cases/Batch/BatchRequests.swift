import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let batchRequests = ConformanceSubject("Batch requests") {
    updates
    deletes
    unappliedRules
    refusals
  }

  private static func ids(_ stack: ConformanceStack, _ entity: String, where predicate: FetchPredicate) throws
    -> Set<ManagedObjectID>
  {
    try stack.read { Set(try $0.all(entity, where: predicate).map(\.objectID)) }
  }

  @CasesBuilder private static var updates: [Case] {
    withAndWithoutOptionalParts("a batch update changes the records that satisfy its condition") { stack in
      try stack.write { try Music.fill($0) }
      let old = compare("year", .less, 1965)
      let expected = try ids(stack, "Album", where: old)
      try stack.read { context in
        let request = BatchUpdateRequest(
          entityName: "Album", predicate: old, values: ["isLive": true, "price": decimal("1.25")])
        try expectEqual(Set(try context.execute(request)), expected)
      }
      try stack.read { context in
        let found = try context.names("Album", where: equal("price", decimal("1.25")))
        try expectEqual(found, ["Kind of Blue", "Live in Berlin"])
        try expectEqual(try context.number(of: "Album", where: equal("isLive", true)), 2)
      }
    }
    withAndWithoutOptionalParts("a batch update without a condition changes every record") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let changed = try context.execute(BatchUpdateRequest(entityName: "Performer", values: ["country": "XX"]))
        try expectEqual(changed.count, 6)
        try expectEqual(try context.number(of: "Performer", where: equal("country", "XX")), 6)
      }
    }
    withAndWithoutOptionalParts("a batch update raises versions") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 1])) }
      try stack.read { try expectEqual(try $0.one("Album").version, 2) }
    }
    withAndWithoutOptionalParts("a fetch shows a batch update of records whose former rows other contexts hold") {
      stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let keeper = stack.context()
      let kept = try keeper.performAndWait {
        let album = try keeper.one("Album")
        try album.load()
        return album
      }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 2])) }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(2)) }
      withExtendedLifetime(kept) {}
    }
    withAndWithoutOptionalParts("a batch update shows in the objects of the context") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.read { context in
        let album = try context.one("Album")
        try album.load()
        _ = try context.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 2]))
        try expectEqual(try album.value(for: "year"), .int(2))
        try expect(!context.hasChanges, "nothing to save")
        try album.setValue("B", for: "title")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Album", where: equal("year", 2)), ["B"]) }
    }
    withAndWithoutOptionalParts("a batch update with a pattern changes the matching records only") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let short = compare("name", .matches, "[A-Z]..")
        let changed = try context.execute(
          BatchUpdateRequest(entityName: "Genre", predicate: short, values: ["name": "Three"]))
        try expectEqual(changed.count, 1)
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Modal", "Rock", "Three"]) }
    }
    withAndWithoutOptionalParts("a batch update that finds nothing changes nothing") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        let request = BatchUpdateRequest(entityName: "Album", predicate: equal("title", "B"), values: ["year": 1])
        try expectEqual(try context.execute(request), [])
      }
      try stack.read { try expectEqual(try $0.one("Album").version, 1) }
    }
    withAndWithoutOptionalParts("another writer's save conflicts with a batch update") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        let album = try context.one("Album")
        try album.load()
        try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 1])) }
        try album.setValue("B", for: "title")
        _ = try expectThrows(.versionConflict) { try context.save() }
      }
    }
  }

  @CasesBuilder private static var deletes: [Case] {
    withAndWithoutOptionalParts("a batch delete removes the records that satisfy its condition") { stack in
      try stack.write { try Music.fill($0) }
      let pop = members(.any, "genres", equal("name", "Pop"))
      let expected = try ids(stack, "Album", where: pop)
      try stack.read { context in
        try expectEqual(Set(try context.execute(BatchDeleteRequest(entityName: "Album", predicate: pop))), expected)
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Album"), 5)
        try expectEqual(try context.one("Genre", where: equal("name", "Pop")).labels(of: "albums"), [])
      }
    }
    withAndWithoutOptionalParts("a batch delete clears references to deleted records") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { _ = try $0.execute(BatchDeleteRequest(entityName: "Performer")) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Album", where: equal("artist", nil)), 8)
        try expectEqual(try context.number(of: "Performer"), 0)
      }
    }
    withAndWithoutOptionalParts("a batch delete removes links on both sides") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        _ = try context.execute(BatchDeleteRequest(entityName: "Genre", predicate: equal("name", "Jazz")))
      }
      try stack.reopen()
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "Kind of Blue"))
        try expectEqual(try album.labels(of: "genres"), ["Modal"])
        try expectEqual(try context.one("Genre", where: equal("name", "Modal")).object(for: "parent"), nil)
      }
    }
    withAndWithoutOptionalParts("a batch delete shows in the objects of the context") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let artist = try context.one("Artist", where: equal("name", "Miles"))
        let albums = try artist.objects(for: "albums")
        try expectEqual(albums.count, 2)
        _ = try context.execute(BatchDeleteRequest(entityName: "Artist", predicate: equal("name", "Miles")))
        for album in albums { try expectEqual(try album.object(for: "artist"), nil) }
        _ = try expectThrows(oneOf: [.objectDeleted, .objectNotFound]) { try artist.setValue("X", for: "name") }
        try expectEqual(try context.number(of: "Artist"), 3)
        try context.save()
      }
    }
    withAndWithoutOptionalParts("a batch delete of an entity leaves its siblings") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { try expectEqual(try $0.execute(BatchDeleteRequest(entityName: "Artist")).count, 4) }
      try stack.read { try expectEqual(try $0.names("Performer"), ["Abba", "Can"]) }
    }
    Case("a batch request leaves out a store that only reads and has none of the records") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.reopen(options: [StoreOption.readOnly: true])
      try stack.read { context in
        let missing = equal("year", 2)
        try expectEqual(try context.execute(BatchDeleteRequest(entityName: "Album", predicate: missing)), [])
        let update = BatchUpdateRequest(entityName: "Album", predicate: missing, values: ["year": 3])
        try expectEqual(try context.execute(update), [])
        _ = try expectThrows(.storeReadOnly) { try context.execute(BatchDeleteRequest(entityName: "Album")) }
        try expectEqual(try context.number(of: "Album"), 1)
      }
    }
  }

  private static let crews = soundModel {
    Entity("Crew") {
      Attribute("name", .string)
      Relationship("hands", toMany: "Hand", inverse: "crew", minimumCount: 1, deleteRule: .deny)
      Relationship("ports", toMany: "Port", inverse: "crews", deleteRule: .deny)
    }
    Entity("Hand") {
      Attribute("name", .string)
      Relationship("crew", toOne: "Crew", inverse: "hands")
    }
    Entity("Port") {
      Attribute("name", .string)
      Relationship("crews", toMany: "Crew", inverse: "ports", minimumCount: 1)
    }
  }

  @CasesBuilder private static var unappliedRules: [Case] {
    withAndWithoutOptionalParts(
      "a batch delete applies no delete rule, and leaves fewer members than a relationship asks for", model: crews
    ) { stack in
      try stack.write { context in
        for number in 1...2 {
          let crew = try context.make("Crew", ["name": "crew \(number)"])
          try crew.setObjects([try context.make("Hand", ["name": "hand \(number)"])], for: "hands")
          try crew.setObjects([try context.make("Port", ["name": "port \(number)"])], for: "ports")
        }
      }
      try stack.read { context in
        let hands = BatchDeleteRequest(entityName: "Hand", predicate: equal("name", "hand 1"))
        try expectEqual(try context.execute(hands).count, 1)
        let crews = BatchDeleteRequest(entityName: "Crew", predicate: equal("name", "crew 2"))
        try expectEqual(try context.execute(crews).count, 1)
      }
      try stack.read { context in
        try expectEqual(try context.one("Crew").labels(of: "hands"), [])
        try expectEqual(try context.one("Crew").labels(of: "ports"), ["port 1"])
        let hand = try context.one("Hand")
        try expectEqual(try hand.object(for: "crew"), nil)
        try expectEqual(hand.version, 2, "the version of the record that lost its reference")
        try expectEqual(try context.one("Port", where: equal("name", "port 2")).labels(of: "crews"), [])
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    Case("a batch update of an unknown property is refused") { stack in
      try stack.read { context in
        _ = try expectThrows(.unknownProperty) {
          try context.execute(BatchUpdateRequest(entityName: "Album", values: ["nonsense": 1]))
        }
      }
    }
    Case("a batch update with a value of another type is refused") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.read { context in
        _ = try expectThrows(.wrongType) {
          try context.execute(BatchUpdateRequest(entityName: "Album", values: ["year": "one"]))
        }
        try expectEqual(try context.one("Album").value(for: "year"), .int(1))
      }
    }
    withAndWithoutOptionalParts("a batch update that breaks uniqueness changes nothing") { stack in
      try stack.write { context in for name in ["a", "b"] { try context.make("Genre", ["name": name]) } }
      try stack.read { context in
        _ = try expectThrows(.uniquenessViolated) {
          try context.execute(BatchUpdateRequest(entityName: "Genre", values: ["name": "c"]))
        }
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["a", "b"]) }
    }
    Case("a batch request for an unknown entity is refused") { stack in
      try stack.read { context in
        _ = try expectThrows(.unknownEntity) { try context.execute(BatchDeleteRequest(entityName: "Nonsense")) }
      }
    }
  }
}
