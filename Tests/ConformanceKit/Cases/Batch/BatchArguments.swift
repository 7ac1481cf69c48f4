import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let batchArguments = ConformanceSubject("Arguments of batch requests") {
    subentities
    newValues
    refusals
    surroundings
  }

  @CasesBuilder private static var subentities: [Case] {
    Case("a batch update without subentities changes the entity's own records alone") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        var request = BatchUpdateRequest(entityName: "Artist", values: ["country": "XX"])
        request.includesSubentities = false
        try expectEqual(try context.execute(request).count, 3)
      }
      try stack.read { try expectEqual(try $0.number(of: "Performer", where: equal("country", "XX")), 3) }
      try stack.read { try expectEqual(try $0.number(of: "Legend", where: equal("country", "US")), 1) }
    }
    Case("a batch delete without subentities deletes the entity's own records alone") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        var request = BatchDeleteRequest(entityName: "Artist")
        request.includesSubentities = false
        try expectEqual(try context.execute(request).count, 3)
      }
      try stack.read { try expectEqual(try $0.names("Performer"), ["Abba", "Can", "Ella"]) }
    }
  }

  @CasesBuilder private static var newValues: [Case] {
    Case("a batch update clears an optional attribute") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["year": nil])) }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .null) }
    }
    Case("a batch update accepts a whole number for a double", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample", ["double": 0.5, "decimal": decimal("0.5")]) }
      let request = BatchUpdateRequest(entityName: "Sample", values: ["double": 7, "float": 8, "decimal": 9])
      try stack.read { try expectEqual(try $0.execute(request).count, 1) }
      try stack.read { context in
        let sample = try context.one("Sample")
        try expectEqual(try sample.value(for: "double"), .double(7))
        try expectEqual(try sample.value(for: "float"), .double(8))
        try expectEqual(try sample.value(for: "decimal"), .decimal(9))
      }
    }
    Case("a batch update sets all of its values") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let request = BatchUpdateRequest(entityName: "Album", values: ["title": "B", "year": 2, "isLive": true])
      try stack.read { _ = try $0.execute(request) }
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try ["title", "year", "isLive"].map { try album.value(for: $0) }, ["B", 2, true].values)
      }
    }
  }

  private static func refused(
    _ sentence: String, _ code: ErrorCode, _ execute: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case(sentence) { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        try expectThrows(code) { try execute(context) }
        try expectEqual(try context.one("Album").version, 1)
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    refused("a batch update that clears a required attribute is refused", .missingValue) {
      _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["title": nil]))
    }
    refused("a batch update of a relationship is refused", .wrongType) {
      _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["artist": "x"]))
    }
    refused("a batch update with a value out of range is refused", .invalidValue) {
      _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["year": Int64.max]))
    }
    refused("a batch update of an unknown entity is refused", .unknownEntity) {
      _ = try $0.execute(BatchUpdateRequest(entityName: "Nonsense", values: [:]))
    }
    refused("a batch update with a bad condition is refused", .unknownProperty) {
      _ = try $0.execute(BatchUpdateRequest(entityName: "Album", predicate: equal("nonsense", 1), values: ["year": 1]))
    }
    refused("a batch delete with a bad condition is refused", .unknownProperty) {
      _ = try $0.execute(BatchDeleteRequest(entityName: "Album", predicate: equal("nonsense", 1)))
    }
  }

  @CasesBuilder private static var surroundings: [Case] {
    Case("batch requests ignore unsaved changes") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.read { context in
        try context.one("Album").setValue(2, for: "year")
        try context.make("Album", ["title": "B", "year": 1])
        let ofUnsaved = BatchUpdateRequest(
          entityName: "Album", predicate: equal("year", 2), values: ["isLive": true])
        try expectEqual(try context.execute(ofUnsaved), [])
        let ofSaved = BatchDeleteRequest(entityName: "Album", predicate: equal("year", 1))
        try expectEqual(try context.execute(ofSaved).count, 1)
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 0) }
    }
    Case("a batch update shows in a follower and a batch delete too") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title, "year": 1]) } }
      let (context, follower) = (stack.context(), stack.context())
      follower.follow(context)
      let albums = try follower.performAndWait { try follower.all("Album", sort: [SortKey("title")]) }
      try context.performAndWait {
        try context.execute(
          BatchUpdateRequest(entityName: "Album", predicate: equal("title", "A"), values: ["year": 2]))
        try context.execute(BatchDeleteRequest(entityName: "Album", predicate: equal("title", "B")))
      }
      try follower.performAndWait {
        try expectEqual(try albums[0].value(for: "year"), .int(2))
        try expect(follower.registeredObjects == [albums[0]], "the updated object alone")
      }
    }
    Case("a batch request in a context without a coordinator throws") { _ in
      let context = ManagedObjectContext(concurrencyType: .privateQueue)
      try context.performAndWait {
        try expectThrows(.contextWithoutStore) { try context.execute(BatchDeleteRequest(entityName: "Album")) }
        _ = try expectThrows(.contextWithoutStore) {
          try context.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 1]))
        }
      }
    }
  }
}

extension [any AttributeConvertible] {
  fileprivate var values: [AttributeValue] { map(\.attributeValue) }
}
