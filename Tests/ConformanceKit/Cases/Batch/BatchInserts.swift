import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let batchInserts = ConformanceSubject("Batch inserts") {
    inserts
    duplicates
    refusals
  }

  private static func request(
    _ rows: [[String: AttributeValue]], _ policy: BatchInsertRequest.DuplicatePolicy = .fail, entity: String = "Album"
  ) -> BatchInsertRequest {
    BatchInsertRequest(entityName: entity, rows: rows, onDuplicate: policy)
  }

  private static func row(_ barcode: String?, _ title: String, _ year: Int64? = nil) -> [String: AttributeValue] {
    var row: [String: AttributeValue] = ["title": .string(title)]
    if let barcode { row["barcode"] = .string(barcode) }
    if let year { row["year"] = .int(year) }
    return row
  }

  @CasesBuilder private static var inserts: [Case] {
    withAndWithoutOptionalParts("a batch insert makes records with defaults and references, shown in live contexts") {
      stack in
      try stack.write { try $0.make("Artist", ["name": "Nina"]) }
      try stack.read { context in
        let artist = try unwrap(try context.one("Artist") as? Artist)
        try expectEqual(artist.albums.count, 0)
        let artistID = artist.objectID
        let rows = (0..<1_000).map { number in
          row("\(number)", "album \(number)", Int64(number)).merging(["artist": .reference(artistID)]) { $1 }
        }
        let result = try context.execute(request(rows))
        try expectEqual(result.inserted.count, 1_000)
        try expectEqual(result.updated, [])
        try expectEqual(artist.albums.count, 1_000)
        let album = try unwrap(try context.existingObject(with: result.inserted[7]) as? Album)
        try expectEqual(album.title, "album 7")
        try expectEqual(album.format, .vinyl)
        try expectEqual([album.version, Int64(album.year ?? 0)], [1, 7])
        try expect(!context.hasChanges, "nothing to save")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Album", where: compare("year", .greaterOrEqual, 500)), 500)
        try expectEqual(try unwrap(try context.one("Artist") as? Artist).albums.count, 1_000)
      }
    }
    withAndWithoutOptionalParts("a batch insert without rows inserts nothing") { stack in
      try stack.read { context in
        try expectEqual(try context.execute(request([])).inserted, [])
        try expectEqual(try context.number(of: "Album"), 0)
      }
    }
  }

  @CasesBuilder private static var duplicates: [Case] {
    withAndWithoutOptionalParts(
      "a batch insert gives duplicates the values of their rows, and writes those with a difference"
    ) { stack in
      try stack.write { context in
        try context.make("Album", ["title": "same", "barcode": "1", "year": 1])
        try context.make("Album", ["title": "old", "barcode": "2", "year": 2])
        try context.make("Album", ["title": "other", "barcode": "3", "year": 3])
      }
      let keeper = stack.context()
      let old = try keeper.performAndWait {
        try unwrap(try keeper.one("Album", where: equal("barcode", "2")) as? Album)
      }
      let watcher = stack.context()
      watcher.follow(keeper)
      try keeper.performAndWait {
        let rows = [
          row("1", "same", 1), row("2", "first", 5), row("4", "fresh", 4), row("2", "new"), row(nil, "none"),
          row(nil, "none"),
        ]
        let result = try keeper.execute(request(rows, .update(by: "barcode")))
        try expectEqual(result.inserted.count, 3)
        try expectEqual(result.updated, [old.objectID])
        try expectEqual(old.title, "new")
      }
      try stack.read { context in
        let albums = try context.all("Album", where: compare("barcode", .notEqual, nil), sort: [SortKey("barcode")])
        try expectEqual(try albums.map { try $0.label }, ["same", "new", "other", "fresh"])
        try expectEqual(albums.map(\.version), [1, 2, 1, 1])
        // The request names the year, and the row that counts gives it none: the default is no value.
        let years: [AttributeValue] = [.int(1), .null, .int(3), .int(4)]
        try expectEqual(try albums.map { try $0.value(for: "year") }, years)
        try expectEqual(try context.number(of: "Album", where: equal("title", "none")), 2)
      }
      withExtendedLifetime((old, watcher)) {}
    }
    withAndWithoutOptionalParts("a batch insert leaves duplicates out") { stack in
      try stack.write { try $0.make("Album", ["title": "old", "barcode": "1"]) }
      try stack.read { context in
        let rows = [row("1", "new"), row("2", "first"), row("2", "second")]
        let result = try context.execute(request(rows, .ignore(by: "barcode")))
        try expectEqual([result.inserted.count, result.updated.count], [1, 0])
        try expectEqual(try context.names("Album"), ["first", "old"])
        try expectEqual(try context.all("Album").map(\.version), [1, 1])
        try expectEqual(try context.execute(request(rows, .ignore(by: "barcode"))).inserted, [])
      }
    }
    withAndWithoutOptionalParts("batch inserts of the same rows by many contexts at one time make each record once") {
      stack in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<4 {
          let context = stack.context()
          group.addTask {
            try await context.perform {
              let rows = (0..<200).map { row("\($0)", "album \($0)", Int64($0)) }
              return try context.execute(request(rows, .update(by: "barcode"))).inserted.count
            }
          }
        }
        let inserted = try await group.reduce(0, +)
        try expectEqual(inserted, 200)
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 200) }
    }
    withAndWithoutOptionalParts("a batch insert with a duplicate and no treatment of duplicates inserts nothing") {
      stack in
      try stack.write { try $0.make("Album", ["title": "old", "barcode": "1"]) }
      try stack.read { context in
        _ = try expectThrows(.uniquenessViolated) { try context.execute(request([row("2", "a"), row("1", "b")])) }
        _ = try expectThrows(.uniquenessViolated) { try context.execute(request([row("2", "a"), row("2", "b")])) }
        try expectEqual(try context.names("Album"), ["old"])
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    withAndWithoutOptionalParts("a batch insert of bad rows names the property and inserts nothing") { stack in
      try stack.write { _ = try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        func refused(
          _ codes: [ErrorCode], _ row: [String: AttributeValue], _ name: String,
          _ policy: BatchInsertRequest.DuplicatePolicy = .fail, entity: String = "Album"
        ) throws {
          let error = try expectThrows(oneOf: codes) {
            try context.execute(request([self.row("9", "good"), row], policy, entity: entity))
          }
          try expect(error.message.contains(name), "'\(name)' in '\(error.message)'")
        }
        let title: [String: AttributeValue] = ["title": .string("a")]
        try refused([.missingValue], ["barcode": .string("1")], "Album.title")
        try refused([.unknownProperty], title.merging(["missing": .int(1)]) { $1 }, "missing")
        try refused([.wrongType], title.merging(["year": .string("x")]) { $1 }, "Album.year")
        try refused([.invalidValue], title.merging(["year": .int(.max)]) { $1 }, "Album.year")
        try refused([.wrongType], title.merging(["genres": .int(1)]) { $1 }, "Album.genres")
        try refused([.wrongType], title.merging(["artist": .int(1)]) { $1 }, "Album.artist")
        let genre = try context.one("Genre").objectID
        try refused([.wrongType], title.merging(["artist": .reference(genre)]) { $1 }, "Album.artist")
        try refused([.invalidFetchRequest], title, "title", .update(by: "title"))
        try refused([.unknownProperty], title, "missing", .ignore(by: "missing"))
        try refused([.unknownEntity], title, "Performer", entity: "Performer")
        try refused([.unknownEntity], title, "Nothing", entity: "Nothing")
        try expectEqual(try context.number(of: "Album"), 0)
      }
    }
    withAndWithoutOptionalParts("a batch insert with a reference to a deleted record inserts nothing") { stack in
      try stack.write { _ = try $0.make("Artist", ["name": "gone"]) }
      try stack.read { context in
        let artist = try context.one("Artist")
        let gone = artist.objectID
        context.delete(artist)
        try context.save()
        let rows = [row("1", "a"), row("2", "b").merging(["artist": .reference(gone)]) { $1 }]
        for policy: BatchInsertRequest.DuplicatePolicy in [.fail, .update(by: "barcode")] {
          _ = try expectThrows(.danglingReference) { try context.execute(request(rows, policy)) }
        }
        try expectEqual(try context.number(of: "Album"), 0)
      }
    }
  }
}
