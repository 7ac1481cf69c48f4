import CoherenceCore
import Foundation

/// Aggregates of the members of to-many relationships, in conditions and orders of fetches.
extension ConformanceSubject {
  static let aggregatesOfMembers = ConformanceSubject("Aggregates of members") {
    orders
    conditions
    conditionsOutOfRange
    keys
    unsaved
  }

  @CasesBuilder private static var orders: [Case] {
    Case.computed("records are ordered by the number of their members and by aggregates of them") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        func titles(_ keys: SortKey...) throws -> [String] { try context.names("Album", sort: keys) }
        try expectEqual(
          try titles(SortKey("tracks.@count", .reverse), SortKey("title")),
          [
            "Kind of Blue", "Debut", "100% Pure_", "Arrival", "Bitches Brew", "Live in Berlin", "Tago Mago", "Untitled",
          ])
        try expectEqual(
          try titles(SortKey("tracks.@sum.length", .reverse)),
          [
            "Kind of Blue", "Bitches Brew", "Debut", "Live in Berlin", "Arrival", "100% Pure_", "Tago Mago", "Untitled",
          ])
        try expectEqual(
          try titles(SortKey("tracks.@avg.length")),
          [
            "Tago Mago", "Untitled", "100% Pure_", "Arrival", "Debut", "Live in Berlin", "Kind of Blue", "Bitches Brew",
          ])
        try expectEqual(
          try titles(SortKey("genres.@min.name", .reverse), SortKey("title")),
          [
            "Tago Mago", "100% Pure_", "Arrival", "Debut", "Bitches Brew", "Kind of Blue", "Live in Berlin", "Untitled",
          ])
        try expectEqual(
          try context.names("Performer", sort: [SortKey("albums.@sum.price", .reverse), SortKey("name")]),
          ["Miles", "Can", "Ella", "Bj\u{F6}rk", "Abba", "nina"])
        try expectEqual(
          try context.names("Performer", sort: [SortKey("albums.@max.price"), SortKey("name")]),
          ["Abba", "nina", "Bj\u{F6}rk", "Ella", "Can", "Miles"])
        try expectEqual(
          try titles(SortKey("artist.albums.@count", .reverse), SortKey("title")).prefix(3),
          ["Bitches Brew", "Kind of Blue", "Arrival"])
      }
    }
  }

  @CasesBuilder private static var conditions: [Case] {
    Case.computed("records are found by aggregates of their members") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        func titles(_ format: String) throws -> [String] {
          try context.names("Album", where: try FetchPredicate(format: format))
        }
        try expectEqual(try titles("tracks.@sum.length > 541"), ["Bitches Brew", "Kind of Blue"])
        try expectEqual(try titles("tracks.@avg.length == 270.5"), ["Debut"])
        try expectEqual(try titles("tracks.@min.title BEGINSWITH \"C\""), ["Debut"])
        try expectEqual(try titles("tracks.@max.length == NULL"), ["Tago Mago", "Untitled"])
        try expectEqual(try titles("tracks.@sum.length == 0"), ["Tago Mago", "Untitled"])
        try expectEqual(try titles("genres.@count == 2 AND NOT tracks.@min.length < 400"), ["Bitches Brew"])
        try expectEqual(try titles("genres.@distinctCount.parent == 1"), ["Kind of Blue"])
        try expectEqual(
          try context.names("Performer", where: try FetchPredicate(format: "albums.@sum.price > 12")), ["Can", "Miles"])
        try expectEqual(
          try context.names("Performer", where: try FetchPredicate(format: "ANY albums.tracks.@sum.length > 1300")),
          ["Miles"])
        try expectEqual(
          try context.names(
            "Performer", where: try FetchPredicate(format: "albums.@avg.price > 15 AND albums.@avg.price < 15.25")),
          [])
      }
    }
  }

  @CasesBuilder private static var conditionsOutOfRange: [Case] {
    Case.computed("records are found by a sum of members that is out of range", model: Harbours.model) { stack in
      try stack.write { context in
        for amounts: [Int64] in [[.max, 1], [7]] { try makeCargo(context, amounts) }
      }
      try stack.read { context in
        let sum = FetchExpression.path(PropertyPath("crates.@sum.amount"))
        let (ours, greater) = (AttributeValue.double(0x1p63), AttributeValue.double(0x1p64))
        func count(_ condition: FetchPredicate) throws -> [String] {
          try context.table(aggregate("Cargo", [.count], where: condition))
        }
        try expectEqual(try count(.comparison(sum, .equal, .value(ours))), ["1"])
        try expectEqual(try count(.comparison(sum, .greaterOrEqual, .value(ours))), ["1"])
        try expectEqual(try count(.comparison(sum, .less, .value(greater))), ["2"])
        try expectEqual(try count(.membership(sum, in: [ours])), ["1"])
        try expectEqual(try count(.membership(sum, in: [ours, .int(7)])), ["2"])
        try expectEqual(try count(.not(.membership(sum, in: [ours, greater]))), ["1"])
      }
    }
    Case.computed(
      "records are found and ordered by sums of members' decimals, among them sums with too many digits",
      model: Harbours.model
    ) { stack in
      let digits = "12345678901234567890123456789012345678"
      let tiny = "0.0000000000000000000000000000000000000000000001"
      let worths = [["2"], [digits, "0.5"], ["1.25", tiny], ["-\(digits)", "-0.5"], ["1.5"], ["1.2"], []]
      try stack.write { context in
        for (number, worths) in worths.enumerated() {
          let cargo = try context.make("Cargo", ["number": number])
          for worth in worths {
            let crate = try context.make("Crate", ["number": 0, "worth": Decimal(string: worth) ?? 0])
            try crate.setObject(cargo, for: "cargo")
          }
        }
      }
      try stack.read { context in
        func numbers(_ format: String? = nil, _ order: SortOrder = .forward) throws -> [Int] {
          let condition = try format.map { try FetchPredicate(format: $0) }
          return try context.all("Cargo", where: condition, sort: [SortKey("crates.@sum.worth", order)])
            .map { try $0.value(for: "number", as: Int.self) }
        }
        try expectEqual(try numbers(), [3, 6, 5, 2, 4, 0, 1])
        try expectEqual(try numbers(nil, .reverse), [1, 0, 4, 2, 5, 6, 3])
        try expectEqual(try numbers("crates.@sum.worth > 1.3"), [4, 0, 1])
        try expectEqual(try numbers("crates.@sum.worth < 1.23"), [3, 6, 5])
        try expectEqual(try numbers("crates.@sum.worth BETWEEN {1.22, 1.3}"), [2])
      }
    }
  }

  /// Makes a cargo with a crate for each amount.
  private static func makeCargo(_ context: ManagedObjectContext, _ amounts: [Int64]) throws {
    let cargo = try context.make("Cargo", ["number": 0])
    for amount in amounts {
      try context.make("Crate", ["number": 0, "amount": amount]).setObject(cargo, for: "cargo")
    }
  }

  @CasesBuilder private static var keys: [Case] {
    Case.computed("records are grouped by the sum of their members' 64-bit integers", model: Harbours.model) { stack in
      try stack.write { context in
        for amounts: [Int64] in [[3, 4], [7], [], [-1]] { try makeCargo(context, amounts) }
      }
      try stack.read { context in
        let sum = "crates.@sum.amount"
        try expectEqual(
          try context.table(aggregate("Cargo", by: [sum], [.property(sum), .count])), ["-1 | 1", "0 | 1", "7 | 2"])
        try expectEqual(
          try context.table(aggregate("Cargo", [.minimum(of: sum), .maximum(of: sum), .sum(of: sum)])),
          ["-1 | 7 | 13"])
      }
    }
    Case.computed(
      "a sum of members out of range throws as a group key, and in the greatest and the sum of such sums",
      model: Harbours.model
    ) { stack in
      try stack.write { context in
        try makeCargo(context, [.max, 1])
        for crate in try context.all("Crate", sort: [SortKey("amount")]) {
          let isFirst = try crate.value(for: "amount", as: Int64.self) == 1
          let worth = Decimal(string: isFirst ? "0.5" : "12345678901234567890123456789012345678")
          try crate.setValue(worth, for: "worth")
        }
      }
      try stack.read { context in
        for sum in ["crates.@sum.amount", "crates.@sum.worth"] {
          try expectThrows(.arithmeticOverflow) {
            try context.table(aggregate("Cargo", by: [sum], [.property(sum)]))
          }
          try expectThrows(.arithmeticOverflow) { try context.table(aggregate("Cargo", [.maximum(of: sum)])) }
          try expectThrows(.arithmeticOverflow) { try context.table(aggregate("Cargo", [.sum(of: sum)])) }
        }
      }
    }
  }

  @CasesBuilder private static var unsaved: [Case] {
    Case.computed("unsaved members take part in the aggregates of conditions and orders") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "Tago Mago"))
        try context.make("Track", ["title": "new", "length": 2_000]).setObject(album, for: "album")
        try expectEqual(
          try context.names("Album", where: try FetchPredicate(format: "tracks.@sum.length > 541")),
          ["Bitches Brew", "Kind of Blue", "Tago Mago"])
        try expectEqual(
          try context.names("Album", sort: [SortKey("tracks.@sum.length", .reverse)]).first, "Tago Mago")
        try expectEqual(
          try context.table(
            aggregate(
              "Album", by: ["tracks.@count"], ["tracks.@count", .count], where: compare("year", .greater, 1970))),
          ["1 | 3", "2 | 1"])
      }
    }
  }
}
