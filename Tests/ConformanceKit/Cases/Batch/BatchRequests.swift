import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let batchRequests = ConformanceSubject("Batch requests") {
    updates
    deletes
    refusals
  }

  private static func ids(_ stack: ConformanceStack, _ entity: String, where predicate: FetchPredicate) throws
    -> Set<ManagedObjectID>
  {
    try stack.read { Set(try $0.all(entity, where: predicate).map(\.objectID)) }
  }

  @CasesBuilder private static var updates: [Case] {
    Case("a batch update changes the records that satisfy its condition") { stack in
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
    Case("a batch update without a condition changes every record") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let changed = try context.execute(BatchUpdateRequest(entityName: "Performer", values: ["country": "XX"]))
        try expectEqual(changed.count, 6)
        try expectEqual(try context.number(of: "Performer", where: equal("country", "XX")), 6)
      }
    }
    Case("a batch update raises versions") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 1])) }
      try stack.read { try expectEqual(try $0.one("Album").version, 2) }
    }
    Case("a fetch shows a batch update of records whose former rows other contexts hold") { stack in
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
    Case("a batch update shows in the objects of the context") { stack in
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
    Case("a batch update with a pattern changes the matching records only") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let short = compare("name", .matches, "[A-Z]..")
        let changed = try context.execute(
          BatchUpdateRequest(entityName: "Genre", predicate: short, values: ["name": "Three"]))
        try expectEqual(changed.count, 1)
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Modal", "Rock", "Three"]) }
    }
    Case("a batch update that finds nothing changes nothing") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        let request = BatchUpdateRequest(entityName: "Album", predicate: equal("title", "B"), values: ["year": 1])
        try expectEqual(try context.execute(request), [])
      }
      try stack.read { try expectEqual(try $0.one("Album").version, 1) }
    }
    Case("another writer's save conflicts with a batch update") { stack in
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
    Case("a batch delete removes the records that satisfy its condition") { stack in
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
    Case("a batch delete clears references to deleted records") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { _ = try $0.execute(BatchDeleteRequest(entityName: "Performer")) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Album", where: equal("artist", nil)), 8)
        try expectEqual(try context.number(of: "Performer"), 0)
      }
    }
    Case("a batch delete removes links on both sides") { stack in
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
    Case("a batch delete shows in the objects of the context") { stack in
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
    Case("a batch delete of an entity leaves its siblings") { stack in
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
    Case("a batch update that breaks uniqueness changes nothing") { stack in
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
