import CoherenceCore
import Foundation
import Synchronization

extension ConformanceSubject {
  static let batchCalculations = ConformanceSubject("Batch calculations") {
    results
    uniqueValues
    choices
    otherWriters
    refusals
  }

  private static func update(
    _ context: ManagedObjectContext, _ entity: String, where predicate: FetchPredicate? = nil,
    _ expressions: [String: UpdateExpression]
  ) throws -> [ManagedObjectID] {
    try context.execute(BatchUpdateRequest(entityName: entity, predicate: predicate, expressions: expressions))
  }

  private static func one(_ number: Int64) -> UpdateExpression { .value(.int(number)) }

  @CasesBuilder private static var otherWriters: [Case] {
    Case("a calculation that loses to other writers again and again keeps them out at last") { stack in
      let interposition = try stack.interpose(excludesWriters: true)
      guard try stack.store is any WriterExcluding else { return }
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let isWriting = Mutex(false)
      interposition.beforeSave { [stack] _ in
        guard !interposition.isExcludingWriters, isWriting.withLock({ $0 }) == false else { return }
        isWriting.withLock { $0 = true }
        defer { isWriting.withLock { $0 = false } }
        try stack.write { context in
          let album = try context.one("Album")
          try album.setValue("\(album.version)", for: "title")
        }
      }
      let changed = try stack.read { try update($0, "Album", ["year": .sum(.attribute("year"), one(1))]) }
      interposition.beforeSave(nil)
      try expectEqual(changed.count, 1)
      try stack.read { context in
        try expectEqual(try context.one("Album").value(for: "year"), .int(2))
      }
    }
  }

  @CasesBuilder private static var results: [Case] {
    withAndWithoutOptionalParts("a batch update calculates integers from each record's own") { stack in
      try stack.write { context in
        for number in 0..<5 { try context.make("Track", ["title": "\(number)", "length": number * 10]) }
      }
      try stack.read { context in
        let changed = try update(
          context, "Track", where: compare("length", .greater, 5), ["length": .sum(.attribute("length"), one(3))])
        try expectEqual(changed.count, 4)
        let lengths = try context.all("Track", sort: [SortKey("title")]).map { try $0.value(for: "length") }
        try expectEqual(lengths, [0, 13, 23, 33, 43].map { AttributeValue.int($0) })
        try expectEqual(try context.one("Track", where: equal("title", "4")).version, 2)
      }
      try stack.read { context in
        for expression: UpdateExpression in [
          .product(.attribute("length"), one(-2)), .difference(.attribute("length"), one(7)),
          .difference(one(100), .attribute("length")), .sum(.attribute("length"), .attribute("length")),
        ] {
          _ = try update(context, "Track", ["length": expression])
        }
        let lengths = try context.all("Track", sort: [SortKey("title")]).map { try $0.value(for: "length") }
        // 2 · (100 - (-2 · length - 7))
        try expectEqual(lengths, [0, 13, 23, 33, 43].map { .int(2 * (107 + 2 * $0)) })
      }
    }
    withAndWithoutOptionalParts("a batch update calculates binary and decimal numbers and joins texts") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A", "price": decimal("9.99")])
        let artist = try context.make("Artist", ["name": "B"])
        try artist.setValue(0.1, for: "rating")
      }
      try stack.read { context in
        _ = try update(
          context, "Album",
          [
            "price": .product(.attribute("price"), .value(.decimal(decimal("0.9")))),
            "title": .sum(.attribute("title"), .value(.string(" (live)"))),
          ])
        _ = try update(context, "Performer", ["rating": .sum(.attribute("rating"), .value(.double(0.2)))])
      }
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.value(for: "price"), .decimal(decimal("8.991")))
        try expectEqual(try album.value(for: "title"), .string("A (live)"))
        try expectEqual(try context.one("Artist").value(for: "rating"), .double(0.1 + 0.2))
      }
    }
    withAndWithoutOptionalParts(
      "a calculation rounds and limits its result alone to the attribute's type", model: Samples.model
    ) { stack in
      try stack.write { try $0.make("Sample", ["float": Float(1), "int16": Int16(30_000)]) }
      try stack.read { context in
        _ = try update(
          context, "Sample",
          [
            "float": .difference(.attribute("float"), .value(.double(16_777_217))),
            "int16": .difference(.sum(.attribute("int16"), one(10_000)), one(20_000)),
          ])
        let sample = try context.one("Sample")
        try expectEqual(try sample.value(for: "float"), .double(-16_777_216))
        try expectEqual(try sample.value(for: "int16"), .int(20_000))
        let large = UpdateExpression.product(.attribute("float"), .value(.double(0x1p300)))
        _ = try update(context, "Sample", ["float": .product(large, .value(.double(0x1p-300)))])
        try expectEqual(try sample.value(for: "float"), .double(-16_777_216))
        _ = try expectThrows(.invalidValue) { try update(context, "Sample", ["float": large]) }
      }
    }
    withAndWithoutOptionalParts("a missing operand of a calculation makes the result missing") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        _ = try update(context, "Album", ["year": .sum(.attribute("year"), one(1))])
        try expectEqual(try context.one("Album").value(for: "year"), .null)
        let error = try expectThrows(.missingValue) {
          try update(context, "Album", ["title": .sum(.attribute("title"), .attribute("barcode"))])
        }
        try expect(error.message.contains("Album.title"), "the property in '\(error.message)'")
        try expectEqual(try context.one("Album").version, 2)
      }
    }
    withAndWithoutOptionalParts("increments by many contexts at one time are all counted") { stack in
      try stack.write { try $0.make("Track", ["title": "A", "length": 0]) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          let context = stack.context()
          group.addTask {
            for _ in 0..<5 {
              try await context.perform {
                _ = try update(context, "Track", ["length": .sum(.attribute("length"), one(1))])
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.read { context in
        let track = try context.one("Track")
        try expectEqual(try track.value(for: "length"), .int(20))
        try expectEqual(track.version, 21)
      }
    }
  }

  @CasesBuilder private static var uniqueValues: [Case] {
    withAndWithoutOptionalParts(
      "a calculation gives records the unique values that others of them had", model: Venues.model
    ) { stack in
      try stack.write { context in for number in 1...6 { try context.make("Seat", ["number": number]) } }
      func numbers() throws -> [AttributeValue] {
        try stack.read { try $0.all("Seat", sort: [SortKey("number")]).map { try $0.value(for: "number") } }
      }
      try stack.read { context in
        for number in [one(1), one(-1), one(1)] {
          try expectEqual(try update(context, "Seat", ["number": .sum(.attribute("number"), number)]).count, 6)
        }
      }
      try expectEqual(try numbers(), (2...7).map(AttributeValue.int))
      try stack.read { context in
        _ = try update(context, "Seat", ["number": .product(.attribute("number"), one(2))])
        let error = try expectThrows(.uniquenessViolated) {
          try update(
            context, "Seat", where: compare("number", .less, 9), ["number": .sum(.attribute("number"), one(2))])
        }
        try expectEqual(error.outcome, .notApplied)
      }
      try expectEqual(try numbers(), (2...7).map { .int(2 * $0) })
    }
  }

  @CasesBuilder private static var choices: [Case] {
    withAndWithoutOptionalParts("a calculation chooses its records by targets and by members") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        func changed(_ entity: String, _ attribute: String, where format: String) throws -> Int {
          try update(
            context, entity, where: try FetchPredicate(format: format),
            [attribute: .sum(.attribute(attribute), one(1_000))]
          ).count
        }
        try expectEqual(try changed("Track", "length", where: "album.artist.name == \"Miles\""), 4)
        try expectEqual(try changed("Album", "year", where: "tracks.@count > 1"), 2)
        try expectEqual(try changed("Album", "year", where: "ANY genres.name == \"Jazz\" OR artist == NULL"), 5)
        try expectEqual(try changed("Album", "year", where: "tracks.@sum.length > 3000"), 1)
        try expectEqual(try changed("Artist", "rating", where: "name == \"nobody\""), 0)
      }
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "Kind of Blue"))
        try expectEqual(try album.value(for: "year"), .int(1959 + 3_000))
        try expectEqual(album.version, 4)
      }
    }
    Case("a batch update that fails in one of several stores shows the changes of the others") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let tracks = try [1, Int(Int32.max)].map { try context.make("Track", ["title": "t", "length": $0]) }
        for (track, store) in zip(tracks, stores) { try context.assign(track, to: store) }
        try context.save()
        let error = try expectThrows(.partialSave) {
          try update(context, "Track", ["length": .sum(.attribute("length"), one(1))])
        }
        try expectEqual(error.outcomes, [stores[0].identifier: .applied, stores[1].identifier: .notApplied])
        try expect(!error.isRetryable, "a repetition would count twice")
        try expectEqual(try tracks.map { try $0.value(for: "length") }, [.int(2), .int(Int64(Int32.max))])
        try expect(!context.hasChanges, "nothing to save")
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    withAndWithoutOptionalParts("a calculation out of the attribute's range is refused and changes nothing") { stack in
      try stack.write { context in
        try context.make("Track", ["title": "small", "length": 1])
        try context.make("Track", ["title": "large", "length": Int(Int32.max)])
        try context.make("Track", ["title": "least", "length": Int(Int32.min)])
      }
      try stack.read { context in
        for expression: UpdateExpression in [
          .sum(.attribute("length"), one(1)), .difference(.attribute("length"), one(1)),
          .product(.attribute("length"), one(-1)), .product(.attribute("length"), one(3)),
          .sum(.attribute("length"), one(.max)), .product(.attribute("length"), .attribute("length")),
        ] {
          let error = try expectThrows(.invalidValue) { try update(context, "Track", ["length": expression]) }
          try expect(error.message.contains("Track.length"), "the property in '\(error.message)'")
        }
        try expectEqual(try context.all("Track").map(\.version), [1, 1, 1])
        let most = try update(
          context, "Track", where: equal("title", "least"),
          ["length": .sum(.attribute("length"), one(Int64(UInt32.max)))])
        try expectEqual(most.count, 1)
        try expectEqual(
          try context.one("Track", where: equal("title", "least")).value(for: "length"), .int(Int64(Int32.max)))
        _ = try update(context, "Track", ["length": .product(.attribute("length"), one(0))])
        try expectEqual(try context.number(of: "Track", where: equal("length", 0)), 3)
      }
    }
    Case("a calculation that does not fit its attribute is refused") { stack in
      try stack.read { context in
        func refused(_ code: ErrorCode, _ entity: String, _ expressions: [String: UpdateExpression]) throws {
          _ = try expectThrows(code) { try update(context, entity, expressions) }
        }
        try refused(.unknownProperty, "Track", ["missing": one(1)])
        try refused(.unknownProperty, "Track", ["length": .sum(.attribute("missing"), one(1))])
        try refused(.wrongType, "Track", ["album": one(1)])
        try refused(.wrongType, "Track", ["length": .sum(.attribute("title"), one(1))])
        try refused(.wrongType, "Track", ["length": .sum(.attribute("length"), .value(.string("x")))])
        try refused(.wrongType, "Track", ["title": .product(.attribute("title"), .value(.string("x")))])
        try refused(.wrongType, "Album", ["isLive": .sum(.attribute("isLive"), .attribute("isLive"))])
        var both = BatchUpdateRequest(entityName: "Track", values: ["length": 1])
        both.expressions = ["length": .sum(.attribute("length"), one(1))]
        _ = try expectThrows(.invalidFetchRequest) { try context.execute(both) }
      }
    }
  }
}
