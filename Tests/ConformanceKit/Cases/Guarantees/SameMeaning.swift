import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let sameMeaning = ConformanceSubject("Same meaning") {
    (1...12).map { conditions(seed: $0, depth: 3) }
    (13...16).map { conditions(seed: $0, depth: 6) }
    (1...4).map(orders)
    numbersOfSubentities
  }

  private static var numbersOfSubentities: Case {
    Case("records are selected and sorted by the numbers of a subentity's attribute with a default") { stack in
      let model = try ManagedObjectModel {
        Entity("Book") { Attribute("title", .string) }
        Entity("Comic", parent: "Book") { Attribute("price", .decimal, optional: true, default: decimal("9.99")) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        for price in ["9.5", "12.25", "100", "-3"] {
          try context.make("Comic", ["title": price, "price": decimal(price)])
        }
        try context.make("Book", ["title": "plain"])
      }
      try stack.read { context in
        try expectEqual(
          try context.names("Book", sort: [SortKey("price"), SortKey("title")]), ["plain", "-3", "9.5", "12.25", "100"])
        try expectEqual(try context.names("Book", where: compare("price", .greater, decimal("9.6"))), ["100", "12.25"])
        try expectEqual(try context.names("Book", where: equal("price", decimal("9.50"))), ["9.5"])
      }
    }
  }

  /// The number of random conditions of a seed: `COHERENCE_CONDITIONS`, or 600.
  private static let conditionCount =
    ProcessInfo.processInfo.environment["COHERENCE_CONDITIONS"].flatMap(Int.init) ?? 600

  /// Random conditions find the same records among unsaved objects, where the evaluator decides, as in the store.
  ///
  /// - Parameter depth: The greatest number of levels of conditions in conditions.
  private static func conditions(seed: Int, depth: Int) -> Case {
    Case("random conditions of seed \(seed), up to \(depth) levels deep, mean the same in memory and in the store") {
      stack in
      var generator = SplitMix64(seed: UInt64(seed))
      let predicates = (0..<conditionCount).map { _ in RandomAlbums.condition(depth: depth, &generator) }
      let context = stack.context()
      let meant = try context.performAndWait {
        try Music.fill(context)
        let found = try predicates.map { try context.names("Album", where: $0) }
        try context.save()
        return found
      }
      try stack.read { context in
        for (predicate, names) in zip(predicates, meant) {
          try expectEqual(try context.names("Album", where: predicate), names, "what \(predicate) finds")
          try expectEqual(try context.number(of: "Album", where: predicate), names.count, "the count of \(predicate)")
        }
      }
    }
  }

  private static func orders(seed: Int) -> Case {
    Case("random orders and ranges of seed \(seed) mean the same in memory and in the store") { stack in
      var generator = SplitMix64(seed: UInt64(seed))
      let requests = (0..<60).map { _ in RandomAlbums.request(&generator) }
      let context = stack.context()
      let meant = try context.performAndWait {
        try Music.fill(context)
        let found = try requests.map { try context.fetch($0).map { try $0.label } }
        try context.save()
        return found
      }
      try stack.read { context in
        for (request, names) in zip(requests, meant) {
          let what = "what \(request.sortKeys) finds at \(request.fetchOffset) up to \(request.fetchLimit ?? -1)"
          try expectEqual(try context.fetch(request).map { try $0.label }, names, what)
        }
      }
    }
  }
}

/// Conditions and orders on the albums of ``Music``, at random.
private enum RandomAlbums {
  static func condition(depth: Int, _ generator: inout SplitMix64) -> FetchPredicate {
    switch generator.number((depth == 0 ? 4 : 0)...9) {
    case 0: .and((0..<2).map { _ in condition(depth: depth - 1, &generator) })
    case 1: .or((0..<2).map { _ in condition(depth: depth - 1, &generator) })
    case 2: .not(condition(depth: depth - 1, &generator))
    case 3: quantified(&generator)
    case 4: number("year", [1958, 1959, 1970, 1993, 1993.5], &generator)
    case 5: number("artist.rating", [4, 4.5, 5], &generator)
    case 6: text("title", &generator)
    case 7: text("artist.name", &generator)
    case 8: list(&generator)
    default: memberCount("tracks", order(&generator), generator.number(0...3))
    }
  }

  private static func order(_ generator: inout SplitMix64) -> ComparisonOperator {
    generator.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
  }

  private static func number(_ path: String, _ values: [Double], _ generator: inout SplitMix64) -> FetchPredicate {
    let value = generator.number(0...5) == 0 ? nil : generator.pick(values)
    return compare(path, order(&generator), value)
  }

  private static func text(_ path: String, _ generator: inout SplitMix64) -> FetchPredicate {
    let value = generator.pick(["", "M", "Miles", "bj\u{F6}RK", "Bjork", "a", "l", "Debut", "%", "_", "e\u{301}"])
    let operations: [ComparisonOperator] = [.equal, .notEqual, .less, .greater, .beginsWith, .endsWith, .contains]
    let options: [StringOptions] = [
      [], [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
    ]
    return compare(path, generator.pick(operations), value, generator.pick(options))
  }

  private static func list(_ generator: inout SplitMix64) -> FetchPredicate {
    let years = (0..<3).map { _ in generator.pick([1959, 1960, 1993, nil] as [Int?]) }
    return generator.chance(50)
      ? among("year", years) : between("price", decimalPrice(&generator), decimalPrice(&generator))
  }

  private static func decimalPrice(_ generator: inout SplitMix64) -> Decimal? {
    generator.pick([Decimal(9), Decimal(12), Decimal(sign: .plus, exponent: -2, significand: 999), nil])
  }

  private static func quantified(_ generator: inout SplitMix64) -> FetchPredicate {
    let quantifier = generator.pick([.any, .all, .none] as [FetchPredicate.Quantifier])
    return generator.chance(50)
      ? members(quantifier, "tracks", number("length", [230, 300, 545], &generator))
      : members(quantifier, "genres", text("name", &generator))
  }

  static func request(_ generator: inout SplitMix64) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.sortKeys = (0..<generator.number(1...2)).map { _ in
      let path = generator.pick(["year", "price", "title", "isLive", "artist.name", "artist.rating"])
      let isText = path == "title" || path == "artist.name"
      let options: StringOptions = isText && generator.chance(50) ? .caseInsensitive : []
      return SortKey(path, generator.chance(50) ? .forward : .reverse, options: options)
    }
    request.fetchOffset = generator.number(0...3)
    request.fetchLimit = generator.chance(50) ? generator.number(0...6) : nil
    return request
  }
}
