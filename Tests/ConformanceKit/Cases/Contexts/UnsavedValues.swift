import CoherenceCore

/// Fetches by a value find unsaved records with the value, in any number.
extension ConformanceSubject {
  static let unsavedValues = ConformanceSubject("Unsaved values") {
    Case("a fetch finds a changed value among many unsaved records, and does not find its former value") { stack in
      try stack.write { context in for number in 0..<200 { try context.make("Album", ["title": "\(number)"]) } }
      try stack.read { context in
        for album in try context.all("Album") { try album.setValue("\(try album.label)a", for: "title") }
        for generation in 0..<3 {
          try expectEqual(try context.names("Album", where: equal("title", "7")), [])
          let album = try context.one("Album", where: equal("title", generation == 0 ? "7a" : "7-\(generation)"))
          try album.setValue("7-\(generation + 1)", for: "title")
          try expectEqual(try context.number(of: "Album", where: equal("title", "7a")), 0)
        }
        context.rollback()
        try expectEqual(try context.number(of: "Album", where: equal("title", "7")), 1)
        try expectEqual(try context.number(of: "Album", where: equal("title", "7-3")), 0)
      }
    }
    Case("a fetch among unsaved records gives clean objects the rows that it read, as every fetch does") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      for (title, isAmongUnsaved) in [("first", false), ("second", true)] {
        try stack.read { context in
          let album = try context.one("Album")
          try album.load()
          try stack.write { try $0.one("Album").setValue(title, for: "title") }
          // The save ends the state of the store that the context reads.
          try context.make("Genre", ["name": title])
          try context.save()
          if isAmongUnsaved { try context.make("Album", ["title": "unsaved", "year": 2]) }
          let found = try context.all("Album", where: equal("title", title))
          try expectEqual(found.map(\.objectID), [album.objectID])
          try expectEqual(try album.value(for: "title"), .string(title))
        }
      }
    }
    Case("two unsaved records that swap a value are each found by their new value") { stack in
      try stack.read { context in
        let albums = try (0..<100).map { try context.make("Album", ["title": "\($0)", "year": $0]) }
        _ = try context.one("Album", where: equal("title", "1"))
        try albums[1].setValue("2", for: "title")
        try albums[2].setValue("1", for: "title")
        try expectEqual(try context.one("Album", where: equal("title", "1")).objectID, albums[2].objectID)
        try expectEqual(try context.one("Album", where: equal("title", "2")).objectID, albums[1].objectID)
        try context.obtainPermanentIDs(for: albums)
        try expectEqual(try context.one("Album", where: equal("title", "1")).objectID, albums[2].objectID)
      }
    }
    withAndWithoutOptionalParts("counts beside up to 502 unsaved changes have the unsaved values") { stack in
      try stack.write { context in
        for number in 0..<510 { try context.make("Album", ["title": "\(number)", "year": 0]) }
      }
      try stack.read { context in
        for (index, album) in try context.all("Album").prefix(502).enumerated() {
          if index.isMultiple(of: 5) { context.delete(album) } else { try album.setValue(1, for: "year") }
          let changed = index + 1
          // A store leaves out at most 500 records in a count.
          guard changed == 1 || changed >= 499 else { continue }
          let deleted = index / 5 + 1
          try expectEqual(try context.number(of: "Album"), 510 - deleted)
          try expectEqual(try context.number(of: "Album", where: equal("year", 0)), 510 - changed)
          try expectEqual(try context.number(of: "Album", where: equal("year", 1)), changed - deleted)
          var request = FetchRequest<ManagedObject>(entityName: "Album")
          (request.fetchOffset, request.fetchLimit) = (400, 200)
          try expectEqual(try context.count(for: request), 110 - deleted)
        }
      }
    }
    Case("a fetch by value returns the same records as a filter over all records, after any change") { stack in
      for seed in 1...3 as ClosedRange<UInt64> {
        try stack.write { context in
          for album in try context.all("Album") { context.delete(album) }
          for number in 0..<90 { try context.make("Album", ["title": "\(number % 30)", "year": number]) }
        }
        var changes = RandomChanges(seed: seed)
        let parent = stack.context()
        let child = ManagedObjectContext(parent: parent)
        try parent.performAndWait {
          try child.performAndWait {
            for _ in 0..<25 { try changes.step(parent: parent, child: child) }
          }
        }
      }
    }
  }
}

/// Changes albums in two nested contexts at random, and compares what both find.
private struct RandomChanges {
  private let seed: UInt64
  private var random: SplitMix64

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix64(seed: seed)
  }

  mutating func step(parent: ManagedObjectContext, child: ManagedObjectContext) throws {
    let context = number(below: 2) == 0 ? parent : child
    for _ in 0..<12 { try change(context) }
    switch number(below: 12) {
    case 0: child.rollback()
    case 1: if context === child { try child.save() }
    case 2: try child.obtainPermanentIDs(for: Array(child.insertedObjects))
    case 3: context.refreshAll()
    default: break
    }
    let title = "\(number(below: 30))"
    for context in [parent, child] {
      for titles in [[title], [title, "3", "x"]] {
        // No index serves a comparison that ignores case. Titles are numbers, so that the result is the same.
        let expected = try context.all("Album", where: among("title", titles, .caseInsensitive)).map(\.objectID)
        let found = try context.all("Album", where: among("title", titles)).map(\.objectID)
        try expectEqual(found, expected, "seed \(seed)")
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.predicate = among("title", titles)
        request.sortKeys = [SortKey("year")]
        request.fetchLimit = 1
        try expectEqual(try context.fetch(request).count, min(1, expected.count), "seed \(seed)")
      }
    }
  }

  private mutating func change(_ context: ManagedObjectContext) throws {
    let title = "\(number(below: 30))"
    let albums = try context.all("Album")
    guard !albums.isEmpty, number(below: 4) > 0 else {
      try context.make("Album", ["title": title, "year": 1_000 + number(below: 1_000)])
      return
    }
    let album = albums[number(below: albums.count)]
    switch number(below: 8) {
    // Only a child deletes albums, because a child cannot save changes of an album that its parent has deleted.
    case 0 where context.parent != nil: context.delete(album)
    case 1: context.refresh(album, mergeChanges: false)
    default: try album.setValue(title, for: "title")
    }
  }

  private mutating func number(below bound: Int) -> Int { random.number(0...bound - 1) }
}
