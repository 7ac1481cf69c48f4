import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let atomicSave = ConformanceSubject("Atomic save") {
    failures
    observers
  }

  /// Asserts that the store holds one album at its first version, and nothing else.
  private static func expectUntouched(_ stack: ConformanceStack) throws {
    try stack.reopen()
    try stack.read { context in
      let album = try context.one("Album")
      try expectEqual(try album.label, "A")
      try expectEqual(album.version, 1)
      try expectEqual(try album.objects(for: "genres").count, 0)
      for entity in ["Performer", "Track", "Genre"] { try expectEqual(try context.number(of: entity), 0, entity) }
    }
  }

  /// Much work of every kind: inserts, an update, links, an order.
  private static func work(_ context: ManagedObjectContext) throws {
    let album = try context.one("Album")
    try album.setValue("changed", for: "title")
    try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
    try album.setObjects(try (0..<5).map { try context.make("Track", ["title": "\($0)"]) }, for: "tracks")
    try album.setObjects([try context.make("Genre", ["name": "Jazz"])], for: "genres")
  }

  @CasesBuilder private static var failures: [Case] {
    Case("a save that fails on validation writes nothing") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        try work(context)
        try context.make("Genre")
        try expectThrows(.validationFailed) { try context.save() }
      }
      try expectUntouched(stack)
    }
    Case("a save that fails on uniqueness writes nothing") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "barcode": "1"]) }
      try stack.read { context in
        try work(context)
        try context.make("Album", ["title": "B", "barcode": "1"])
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
      try expectUntouched(stack)
    }
    Case("a save that fails on a version writes nothing") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try stack.write { try $0.one("Album", where: equal("title", "B")).setValue(1, for: "year") }
        try albums[0].setValue("changed", for: "title")
        try albums[0].setObjects([try context.make("Genre", ["name": "Jazz"])], for: "genres")
        try albums[1].setValue(2, for: "year")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try stack.write { $0.delete(try $0.one("Album", where: equal("title", "B"))) }
      try expectUntouched(stack)
    }
    Case("a save that refers to a record deleted by another writer writes nothing") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"])
        try context.make("Band", ["name": "gone"])
      }
      try stack.read { context in
        let band = try context.one("Band")
        try band.load()
        try stack.write { $0.delete(try $0.one("Band")) }
        try work(context)
        try context.one("Album").setObject(band, for: "artist")
        try expectThrows(oneOf: [.danglingReference, .versionConflict]) { try context.save() }
      }
      try expectUntouched(stack)
    }
    Case("a save that the store refuses writes nothing") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in throw CoherenceError(.storeFull, "The disk is full.") }
      try stack.read { context in
        try work(context)
        try expectThrows(.storeFull) { try context.save() }
      }
      try expectUntouched(stack)
    }
  }

  @CasesBuilder private static var observers: [Case] {
    Case("a reader sees all of a save or nothing of it") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title, "year": 0]) } }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for year in 1...25 {
            try stack.write { context in for album in try context.all("Album") { try album.setValue(year, for: "year") }
            }
          }
        }
        group.addTask {
          for _ in 1...50 {
            let years = try stack.read { try $0.all("Album").map { try $0.value(for: "year", as: Int.self) } }
            try expect(years.count == 2 && years[0] == years[1], "two equal years, found \(years)")
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
