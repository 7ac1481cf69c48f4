import CoherenceCore
import Foundation

/// The values that aggregates take and return: every type, overflow, rounding and equality.
extension ConformanceSubject {
  static let aggregatesOfValues = ConformanceSubject("Aggregates of values") {
    everyType
    equality
    integers
    decimals
    floatingPoint
  }

  /// Two values of each type, the smaller first.
  private static let pairs: [(name: String, low: AttributeValue, high: AttributeValue)] = [
    ("int16", .int(-3), .int(7)), ("int32", .int(-70_000), .int(9)), ("int64", .int(.min), .int(.max)),
    ("bool", .bool(false), .bool(true)), ("float", .double(-0.5), .double(.infinity)),
    ("double", .double(-1e300), .double(0.1)), ("decimal", .decimal(9), .decimal(10)),
    ("string", .string("Z"), .string("a")),
    ("data", .data(Data()), .data(Data([0, 255]))),
    ("date", .date(Timestamp(microseconds: -1)), .date(Timestamp(microseconds: 1))),
    ("uuid", .uuid(UUID.attributeDefault), .uuid(UUID(uuid: (255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))),
    ("url", .string("about:blank"), .string("https://example.org/")), ("mood", .string("calm"), .string("happy")),
    ("level", .int(1), .int(10)), ("place.street", .string("A"), .string("B")), ("place.number", .int(1), .int(2)),
    ("place.isHome", .bool(false), .bool(true)),
  ]

  @CasesBuilder private static var everyType: [Case] {
    Case.computed("values of every type are counted, compared and grouped", model: Samples.model) { stack in
      try stack.write { context in
        for number in 0..<4 {
          let sample = try context.make("Sample", ["name": "\(number)"])
          for pair in pairs where number < 3 {
            try sample.setStoredValue(number == 1 ? pair.high : pair.low, for: pair.name)
          }
        }
      }
      try stack.read { context in
        for pair in pairs {
          let name = pair.name
          let request = aggregate(
            "Sample", [.count(of: name), .countDistinct(of: name), .minimum(of: name), .maximum(of: name)])
          let row = try unwrap(try context.fetchDictionaries(request).first)
          try expectEqual(
            request.propertiesToFetch.map { row[$0.name] }, [.int(3), .int(2), pair.low, pair.high], name)
          let groups = try context.fetchDictionaries(aggregate("Sample", by: [name], [.property(name), .count]))
          try expectEqual(groups.map { $0[name] }, [.null, pair.low, pair.high], name)
          try expectEqual(groups.map { $0["@count"] }, [.int(1), .int(2), .int(1)], name)
          let descending = try context.fetchDictionaries(
            aggregate("Sample", by: ["name"], ["name", .maximum(of: name)]).changed {
              $0.sortKeys = [SortKey("@max.\(name)", .reverse), SortKey("name")]
            })
          try expectEqual(descending.map { $0["name"] }, ["1", "0", "2", "3"].map(AttributeValue.string), name)
        }
      }
    }
  }

  @CasesBuilder private static var equality: [Case] {
    Case.computed("texts are grouped by their bytes", model: Samples.model) { stack in
      let texts = ["\u{E9}", "e\u{301}", "E", "e", "", "\u{1F3B5}", "e"]
      try stack.write { context in for text in texts { try context.make("Sample", ["string": text]) } }
      try stack.read { context in
        let rows = try context.fetchDictionaries(aggregate("Sample", by: ["string"], ["string", .count]))
        let expected = ["", "E", "e", "e\u{301}", "\u{E9}", "\u{1F3B5}"].map(AttributeValue.string)
        try expectEqual(rows.map { $0["string"] }, expected)
        try expectEqual(rows.map { $0["@count"] }, [1, 1, 2, 1, 1, 1].map(AttributeValue.int))
        let distinct = aggregate("Sample", [.countDistinct(of: "string")])
        try expectEqual(try context.table(distinct), ["6"])
      }
    }
    Case.computed("a negative zero and zero, and equal decimals, form one group", model: Samples.model) { stack in
      try stack.write { context in
        for number in [-0.0, 0.0, 1] { try context.make("Sample", ["double": number, "float": Float(number)]) }
        for text in ["1.50", "1.5", "2"] { try context.make("Sample", ["decimal": Decimal(string: text) ?? 0]) }
      }
      try stack.read { context in
        for name in ["double", "float"] {
          try expectEqual(
            try context.table(aggregate("Sample", by: [name], [.property(name), .count])),
            ["null | 3", "0.0 | 2", "1.0 | 1"])
          try expectEqual(try context.table(aggregate("Sample", [.countDistinct(of: name)])), ["2"])
        }
        try expectEqual(
          try context.table(aggregate("Sample", by: ["decimal"], ["decimal", .count])),
          ["null | 3", "decimal(1.5) | 2", "decimal(2) | 1"])
      }
    }
  }

  @CasesBuilder private static var integers: [Case] {
    Case.computed("a sum of integers is exact while its range is left in between", model: Samples.model) { stack in
      try stack.write { context in
        for number in [Int64.max, .max, -7, .min, 3] { try context.make("Sample", ["int64": number]) }
      }
      try stack.read { context in
        try expectEqual(
          try context.table(aggregate("Sample", [.sum(of: "int64"), .average(of: "int64")])),
          ["\(Int64.max - 5) | \(Double(Int64.max - 5) / 5)"])
      }
    }
    Case.computed("a sum of integers out of range throws and names the property", model: Samples.model) { stack in
      try stack.write { context in
        for number in [Int64.max, 1] { try context.make("Sample", ["int64": number, "name": "large"]) }
        try context.make("Sample", ["int64": 5, "name": "small"])
      }
      try stack.read { context in
        let error = try expectThrows(.arithmeticOverflow) {
          try context.table(aggregate("Sample", by: ["name"], ["name", .sum(of: "int64")]))
        }
        try expect(error.message.contains("int64"), "the message to name the property")
        let small = aggregate("Sample", by: ["name"], [.sum(of: "int64")], where: equal("name", "small"))
        try expectEqual(try context.table(small), ["5"])
        let condition = try FetchPredicate(format: "@sum.int64 < 100")
        let chosen = aggregate("Sample", by: ["name"], [.sum(of: "int64")]).changed { $0.havingPredicate = condition }
        try expectEqual(try context.table(chosen), ["5"])
      }
    }
    Case.computed(
      "groups are ordered by sums of integers out of range as by the nearest floating-point numbers",
      model: Samples.model
    ) { stack in
      try stack.write { context in
        for (name, numbers) in [("b", [Int64.max, 1]), ("a", [.max, 2]), ("c", [7]), ("d", [.min, -2_000])] {
          for number in numbers { try context.make("Sample", ["name": name, "int64": number]) }
        }
      }
      try stack.read { context in
        let request = aggregate("Sample", by: ["name"], ["name"])
        func names(_ order: SortOrder) throws -> [String] {
          try context.table(request.changed { $0.sortKeys = [SortKey("@sum.int64", order)] })
        }
        try expectEqual(try names(.forward), ["'d'", "'c'", "'a'", "'b'"])
        try expectEqual(try names(.reverse), ["'a'", "'b'", "'c'", "'d'"])
        let averages = request.changed { $0.sortKeys = [SortKey("@avg.int64", .reverse)] }
        try expectEqual(try context.table(averages), ["'a'", "'b'", "'c'", "'d'"])
      }
    }
    Case.computed("an average of integers is a floating-point number", model: Samples.model) { stack in
      try stack.write { context in
        for number in [1, 2, 2] { try context.make("Sample", ["int16": Int16(number), "int32": Int32(number)]) }
      }
      try stack.read { context in
        try expectEqual(
          try context.table(
            aggregate("Sample", [.average(of: "int16"), .average(of: "int32"), .average(of: "int64")])),
          ["\(5.0 / 3) | \(5.0 / 3) | null"])
      }
    }
  }

  @CasesBuilder private static var decimals: [Case] {
    Case.computed("a sum of decimals is exact, and so is its average", model: Samples.model) { stack in
      let texts = ["0.1", "0.2", "99999999999999999999", "-0.0000000001", "12.5"]
      try stack.write { context in
        for text in texts { try context.make("Sample", ["decimal": Decimal(string: text) ?? 0]) }
      }
      try stack.read { context in
        let sum = try unwrap(Decimal(string: "100000000000000000011.7999999999"))
        try expectEqual(
          try context.table(aggregate("Sample", [.sum(of: "decimal"), .average(of: "decimal")])),
          ["decimal(\(sum)) | decimal(\(sum / 5))"])
        let small = aggregate("Sample", [.sum(of: "decimal")], where: compare("decimal", .less, 1))
        try expectEqual(try context.table(small), ["decimal(0.2999999999)"])
      }
    }
    Case.computed("an average of decimals close to zero is calculated", model: Samples.model) { stack in
      try stack.write { context in
        for text in ["2e-100", "4e-100"] { try context.make("Sample", ["decimal": decimal(text)]) }
      }
      try stack.read { context in
        try expectEqual(
          try context.table(aggregate("Sample", [.average(of: "decimal")])), ["decimal(\(decimal("3e-100")))"])
      }
    }
    Case.computed("a sum of decimals with too many digits throws and names the property", model: Samples.model) {
      stack in
      // The sum of the great numbers is also greater than the greatest decimal.
      let great = "300000000000000000000000000000000000000e127"
      try stack.write { context in
        for (name, texts) in [
          ("long", ["12345678901234567890123456789012345678", "0.5"]), ("great", [great, great]),
        ] {
          for text in texts { try context.make("Sample", ["name": name, "decimal": Decimal(string: text) ?? 0]) }
        }
      }
      try stack.read { context in
        for name in ["long", "great"] {
          let error = try expectThrows(.arithmeticOverflow) {
            try context.table(aggregate("Sample", [.sum(of: "decimal")], where: equal("name", name)))
          }
          try expect(error.message.contains("decimal"), "the message to name the property")
        }
      }
    }
    Case.computed(
      "groups are chosen and ordered by sums of decimals, among them sums with too many digits", model: Samples.model
    ) { stack in
      let digits = "12345678901234567890123456789012345678"
      try stack.write { context in
        for (name, texts) in [
          ("small", ["0.5", "1"]), ("huge", [digits, "0.5"]), ("least", ["-\(digits)", "-0.5"]),
          ("large", ["1000000000000000000000000000000"]),
        ] {
          for text in texts { try context.make("Sample", ["name": name, "decimal": Decimal(string: text) ?? 0]) }
        }
        try context.make("Sample", ["name": "none"])
      }
      try stack.read { context in
        func names(_ order: SortOrder, _ limit: Int? = nil, having format: String? = nil) throws -> [String] {
          let condition = try format.map { try FetchPredicate(format: $0) }
          return try context.table(
            aggregate("Sample", by: ["name"], ["name"]).changed {
              $0.sortKeys = [SortKey("@sum.decimal", order)]
              $0.fetchLimit = limit
              $0.havingPredicate = condition
            })
        }
        try expectEqual(try names(.forward), ["'least'", "'none'", "'small'", "'large'", "'huge'"])
        try expectEqual(try names(.reverse, 2), ["'huge'", "'large'"])
        try expectEqual(try names(.forward, having: "@sum.decimal > 2"), ["'large'", "'huge'"])
        try expectEqual(try names(.forward, having: "@sum.decimal < 0"), ["'least'"])
        let inRange = try FetchPredicate(format: "@sum.decimal BETWEEN {0, 2}")
        let sums = aggregate("Sample", by: ["name"], ["name", .sum(of: "decimal")])
        try expectEqual(
          try context.table(sums.changed { $0.havingPredicate = inRange }),
          ["'none' | decimal(0)", "'small' | decimal(1.5)"])
      }
    }
  }

  @CasesBuilder private static var floatingPoint: [Case] {
    Case.computed("sums of floating-point numbers are added up as doubles", model: Samples.model) { stack in
      try stack.write { context in
        for number in [0.25, 1.5, -4, 16_777_216, 1] {
          try context.make("Sample", ["double": number, "float": Float(number)])
        }
      }
      try stack.read { context in
        try expectEqual(
          try context.table(
            aggregate("Sample", [.sum(of: "double"), .sum(of: "float"), .average(of: "double"), .average(of: "float")])),
          ["16777214.75 | 16777214.75 | 3355442.95 | 3355442.95"])
      }
    }
    Case.computed(
      "sums of floating-point numbers reach infinity, and opposite infinities have no sum", model: Samples.model
    ) { stack in
      try stack.write { context in
        for (name, number) in [
          ("large", Double.greatestFiniteMagnitude), ("large", .greatestFiniteMagnitude), ("none", .infinity),
          ("none", -.infinity), ("one", 1),
        ] { try context.make("Sample", ["name": name, "double": number]) }
      }
      try stack.read { context in
        let request = aggregate("Sample", by: ["name"], ["name", .sum(of: "double"), .average(of: "double")])
        try expectEqual(
          try context.table(request), ["'large' | inf | inf", "'none' | null | null", "'one' | 1.0 | 1.0"])
        try expectEqual(
          try context.table(request.changed { $0.sortKeys = [SortKey("@sum.double", .reverse)] }).map { $0.prefix(6) },
          ["'large", "'one' ", "'none'"])
      }
    }
  }
}

extension ManagedObject {
  /// Assigns a value in its stored form.
  fileprivate func setStoredValue(_ value: AttributeValue, for name: String) throws {
    switch value {
    case .null: try setValue(nil as Int?, for: name)
    case .bool(let value): try setValue(value, for: name)
    case .int(let value): try setValue(value, for: name)
    case .double(let value): try setValue(value, for: name)
    case .string(let value): try setValue(value, for: name)
    case .data(let value): try setValue(value, for: name)
    case .date(let value): try setValue(value.date, for: name)
    case .uuid(let value): try setValue(value, for: name)
    case .decimal(let value): try setValue(value, for: name)
    case .reference: throw ConformanceFailure("expected an attribute")
    }
  }
}
