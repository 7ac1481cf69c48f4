import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let batchCalculations = ConformanceSubject("Batch calculations") {
    results
    refusals
  }

  /// A case on the store, and the same case on Core's fallbacks.
  static func natively(
    orNot name: String, _ run: @escaping @Sendable (ConformanceStack) async throws -> Void
  ) -> [Case] {
    [
      Case(name) { stack in try await run(stack) },
      Case("\(name), without the optional parts of a store") { stack in
        _ = try stack.interpose()
        try await run(stack)
      },
    ]
  }

  private static func update(
    _ context: ManagedObjectContext, _ entity: String, where predicate: FetchPredicate? = nil,
    _ expressions: [String: UpdateExpression]
  ) throws -> [ManagedObjectID] {
    try context.execute(BatchUpdateRequest(entityName: entity, predicate: predicate, expressions: expressions))
  }

  private static func one(_ number: Int64) -> UpdateExpression { .value(.int(number)) }

  @CasesBuilder private static var results: [Case] {
    natively(orNot: "a batch update calculates integers from each record's own") { stack in
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
    natively(orNot: "a batch update calculates binary and decimal numbers and joins texts") { stack in
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
    natively(orNot: "a missing operand of a calculation makes the result missing") { stack in
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
    natively(orNot: "increments by many contexts at one time are all counted") { stack in
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

  @CasesBuilder private static var refusals: [Case] {
    natively(orNot: "a calculation out of the attribute's range is refused and changes nothing") { stack in
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
