import CoherenceCore
import Foundation

/// Aggregates with unsaved changes, of parents too, and of several stores.
extension ConformanceSubject {
  static let aggregatesInContexts = ConformanceSubject("Aggregates in contexts") {
    unsaved
    parents
    stores
  }

  private static let lengths = aggregate("Track", by: ["album.title"], ["album.title", .count, .sum(of: "length")])

  @CasesBuilder private static var unsaved: [Case] {
    Case.computed("aggregates count unsaved records by their unsaved values") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        context.delete(try context.one("Track", where: equal("title", "Crying")))
        try context.one("Track", where: equal("title", "So What")).setValue(1, for: "length")
        let added = try context.make("Track", ["title": "new", "length": 11])
        try added.setObject(try context.one("Album", where: equal("title", "Arrival")), for: "album")
        try context.one("Track", where: equal("title", "caf\u{E9}")).setObject(nil, for: "album")
        try expectEqual(
          try context.table(lengths),
          [
            "null | 1 | 100", "'Arrival' | 2 | 241", "'Bitches Brew' | 1 | 1206", "'Debut' | 1 | 252",
            "'Kind of Blue' | 3 | 924", "'Live in Berlin' | 1 | 282",
          ])
        try expectEqual(
          try context.table(
            aggregate("Track", [.minimum(of: "length"), .average(of: "length"), .countDistinct(of: "length")])),
          ["1 | \((3827.0 - 289 - 544 + 11) / 9) | 9"])
        let stored = lengths.changed { $0.records.includesPendingChanges = false }
        try expectEqual(try context.table(stored).count, 6)
        try expectEqual(try context.table(stored)[2], "'Bitches Brew' | 1 | 1206")
      }
    }
    Case.computed("aggregates see unsaved values of other records that keys and values read") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.one("Album", where: equal("title", "Debut")).setValue("Arrival", for: "title")
        try expectEqual(try context.table(lengths)[1], "'Arrival' | 3 | 771")
        try context.one("Album", where: equal("title", "Kind of Blue")).setValue(2000, for: "year")
        let latest = aggregate("Track", [.maximum(of: "album.year"), .sum(of: "album.year")])
        try expectEqual(try context.table(latest), ["2000 | 17885"])
      }
    }
    Case.computed("an unsaved record is a group key by its temporary identifier") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let album = try context.make("Album", ["title": "new"])
        try context.make("Track", ["title": "t", "length": 5]).setObject(album, for: "album")
        let request = aggregate("Track", by: ["album"], ["album", .sum(of: "length")], where: equal("title", "t"))
        let rows = try context.fetchDictionaries(request)
        try expectEqual(rows.map { $0["album"] }, [.reference(album.objectID)])
        try expectEqual(rows.map { $0["@sum.length"] }, [.int(5)])
      }
    }
    Case.computed("a having predicate finds the group of a record by its former identifier") { stack in
      try stack.read { context in
        let artist = try context.make("Artist", ["name": "a"])
        let former = artist.objectID
        for title in ["A", "B"] { try context.make("Album", ["title": title]).setObject(artist, for: "artist") }
        try context.make("Album", ["title": "C"])
        try context.save()
        let request = aggregate("Album", by: ["artist"], [.count])
        try expectEqual(
          try context.table(request.changed { $0.havingPredicate = refers("artist", to: former) }), ["2"])
      }
    }
    Case.computed("aggregates of many unsaved records have their values") { stack in
      try stack.write { context in
        for number in 0..<1_100 { try context.make("Album", ["title": "a", "year": number]) }
      }
      try stack.read { context in
        for album in try context.all("Album") { try album.setValue(1, for: "year") }
        try expectEqual(
          try context.table(aggregate("Album", by: ["title"], [.count, .sum(of: "year")])), ["1100 | 1100"])
      }
    }
  }

  @CasesBuilder private static var parents: [Case] {
    Case.computed("aggregates of a child context count the unsaved records of its parent") { stack in
      try stack.write { try Music.fill($0) }
      let parent = stack.context()
      try parent.performAndWait {
        try parent.make("Genre", ["name": "Folk"])
        parent.delete(try parent.one("Genre", where: equal("name", "Rock")))
        let child = ManagedObjectContext(concurrencyType: .privateQueue)
        child.parent = parent
        try child.performAndWait {
          try child.make("Genre", ["name": "Blues"])
          try expectEqual(
            try child.table(aggregate("Genre", [.count, .minimum(of: "name"), .maximum(of: "name")])),
            ["5 | 'Blues' | 'Pop'"])
        }
      }
    }
  }

  @CasesBuilder private static var stores: [Case] {
    Case("a sum in range is exact although a part of its records is out of range", model: Samples.model) { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for (number, store) in [(Int64.max, 0), (7, 0), (-5, 1)] {
          let sample = try context.make("Sample", ["int64": number, "decimal": Decimal(number)])
          try context.assign(sample, to: stores[store])
        }
        try context.save()
        let request = aggregate("Sample", [.sum(of: "int64"), .sum(of: "decimal")])
        _ = try expectThrows(.arithmeticOverflow) { try context.table(request) }
        try context.make("Sample", ["int64": Int64(-3), "decimal": Decimal(-3)])
        try expectEqual(
          try context.table(request), ["\(Int64.max - 1) | decimal(\(Decimal(Int64.max) - 1))"])
      }
    }
    Case("a group with infinities of both signs in one of several stores has no sum", model: Samples.model) { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let samples: [(key: Int, number: Double, store: Int)] = [
          (1, .infinity, 0), (1, -.infinity, 0), (1, 1, 1), (2, 1.5, 0), (2, 2.5, 1), (3, 1, 0), (3, .infinity, 1),
        ]
        for (key, number, store) in samples {
          let sample = try context.make("Sample", ["int16": key, "double": number])
          try context.assign(sample, to: stores[store])
        }
        try context.save()
        let columns: [ResultColumn] = ["int16", .sum(of: "double"), .average(of: "double"), .count]
        let request = aggregate("Sample", by: ["int16"], columns)
        let rest = ["2 | 4.0 | 2.0 | 2", "3 | inf | inf | 2"]
        try expectEqual(try context.table(request), ["1 | null | null | 3"] + rest)
        try context.make("Sample", ["int16": 1, "double": 7.0])
        try expectEqual(try context.table(request), ["1 | null | null | 4"] + rest)
      }
    }
    Case("groups of several stores are combined") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for (index, name) in ["b", "b", "a", "c", nil, nil].enumerated() {
          let album = try context.make("Album", ["title": "\(index)", "year": index * 10])
          if let name { try album.setValue(name, for: "barcode") }
          try context.assign(album, to: stores[index % 2])
        }
        try context.save()
        context.reset()
        let request = aggregate(
          "Album", by: ["barcode"], ["barcode", .count, .sum(of: "year"), .average(of: "year"), .minimum(of: "title")])
        try expectEqual(
          try context.table(request),
          [
            "null | 2 | 90 | 45.0 | '4'", "'a' | 1 | 20 | 20.0 | '2'", "'b' | 2 | 10 | 5.0 | '0'",
            "'c' | 1 | 30 | 30.0 | '3'",
          ])
        let chosen = try request.changed {
          $0.havingPredicate = try FetchPredicate(format: "@count > 1")
          $0.sortKeys = [SortKey("@avg.year")]
          $0.fetchLimit = 1
        }
        try expectEqual(try context.table(chosen), ["'b' | 2 | 10 | 5.0 | '0'"])
        try expectEqual(
          try context.table(aggregate("Album", [.countDistinct(of: "barcode"), .count, .maximum(of: "title")])),
          ["3 | 6 | '5'"])
        try context.make("Album", ["title": "unsaved", "year": 1, "barcode": "z"])
        try expectEqual(try context.table(request).last, "'z' | 1 | 1 | 1.0 | 'unsaved'")
      }
    }
  }
}
