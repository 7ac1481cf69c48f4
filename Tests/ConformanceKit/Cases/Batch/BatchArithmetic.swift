import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// The calculations of a batch update at the limits of their operands and results.
  static let batchArithmetic = ConformanceSubject("Arithmetic of batch updates") {
    severalAttributes
    rangesOfNumbers
    missingOperands
    derivedResults
  }

  private static func one(_ number: Int64) -> UpdateExpression { .value(.int(number)) }

  private static func update(
    _ context: ManagedObjectContext, _ expressions: [String: UpdateExpression], of entity: String = "Sample"
  ) throws -> Int {
    try context.execute(BatchUpdateRequest(entityName: entity, expressions: expressions)).count
  }

  /// The values of the only sample, in a context of its own.
  private static func values(_ stack: ConformanceStack, _ names: String...) throws -> [AttributeValue] {
    try stack.read { context in
      let sample = try context.one("Sample")
      return try names.map { try sample.value(for: $0) }
    }
  }

  @CasesBuilder private static var severalAttributes: [Case] {
    withAndWithoutOptionalParts(
      "a batch update calculates several attributes from the values before it, beside constants", model: Samples.model
    ) { stack in
      try stack.write { try $0.make("Sample", ["name": "a", "int16": 1, "int32": 2, "int64": 3]) }
      try stack.read { context in
        var request = BatchUpdateRequest(entityName: "Sample", values: ["name": "b"])
        request.expressions = [
          "int16": .difference(.attribute("int16"), one(1)), "int32": .sum(.attribute("int64"), one(10)),
          "int64": .product(.attribute("int32"), one(10)),
        ]
        try expectEqual(try context.execute(request).count, 1)
      }
      try expectEqual(
        try values(stack, "name", "int16", "int32", "int64"), [.string("b"), .int(0), .int(13), .int(20)])
    }
    withAndWithoutOptionalParts(
      "a calculation with two attributes leaves the other calculations of its update as they are", model: Samples.model
    ) { stack in
      try stack.write { try $0.make("Sample", ["int32": 2, "int64": 3, "double": 0.5]) }
      try stack.read { context in
        let expressions: [String: UpdateExpression] = [
          "int32": .sum(.attribute("int32"), .attribute("int64")), "int64": .sum(.attribute("int64"), one(1)),
          "int16": .attribute("int32"), "double": .product(.attribute("double"), .value(.double(3))),
        ]
        try expectEqual(try update(context, expressions), 1)
      }
      try expectEqual(
        try values(stack, "int32", "int64", "int16", "double"), [.int(5), .int(4), .int(2), .double(1.5)])
    }
  }

  @CasesBuilder private static var rangesOfNumbers: [Case] {
    withAndWithoutOptionalParts("calculations reach the ends of 64 bits, and no further", model: Samples.model) {
      stack in
      try stack.write { try $0.make("Sample", ["int64": -1]) }
      try stack.read { context in
        func calculate(_ expression: UpdateExpression, _ result: Int64?) throws {
          if let result {
            try expectEqual(try update(context, ["int64": expression]), 1)
            try expectEqual(try values(stack, "int64"), [.int(result)])
          } else {
            _ = try expectThrows(.invalidValue) { try update(context, ["int64": expression]) }
          }
        }
        try calculate(.difference(.attribute("int64"), one(.min)), Int64.max)
        try calculate(.sum(.attribute("int64"), one(1)), nil)
        try calculate(.product(.attribute("int64"), one(-1)), -Int64.max)
        try calculate(.difference(.attribute("int64"), one(1)), Int64.min)
        try calculate(.product(.attribute("int64"), one(-1)), nil)
        try calculate(.difference(one(0), .attribute("int64")), nil)
        try calculate(.sum(one(.max), .attribute("int64")), -1)
        try calculate(.product(one(.min), .attribute("int64")), nil)
        try calculate(.sum(.attribute("int64"), one(2)), 1)
        try calculate(.product(one(.min), .attribute("int64")), Int64.min)
      }
    }
    withAndWithoutOptionalParts(
      "a calculation from a wider or narrower integer fits its own type", model: Samples.model
    ) { stack in
      try stack.write { try $0.make("Sample", ["int64": 40_000]) }
      try stack.read { context in
        let copy: UpdateExpression = .sum(.attribute("int64"), one(0))
        _ = try expectThrows(.invalidValue) { try update(context, ["int16": copy]) }
        try expectEqual(try update(context, ["int32": copy]), 1)
        try expectEqual(try update(context, ["int16": .sum(.attribute("int64"), one(-7_233))]), 1)
        try expectEqual(try values(stack, "int16", "int32"), [.int(32_767), .int(40_000)])
        _ = try expectThrows(.invalidValue) {
          try update(context, ["int64": .product(.attribute("int16"), one(.max))])
        }
        try expectEqual(try update(context, ["int16": .difference(.attribute("int16"), one(32_766))]), 1)
        try expectEqual(try update(context, ["int64": .product(.attribute("int16"), one(.max))]), 1)
        try expectEqual(try values(stack, "int16", "int64"), [.int(1), .int(.max)])
      }
    }
    withAndWithoutOptionalParts(
      "a calculation of binary numbers keeps infinities, and refuses a new infinity and not-a-number",
      model: Samples.model
    ) { stack in
      try stack.write { try $0.make("Sample", ["double": Double.greatestFiniteMagnitude, "float": Float(3e38)]) }
      try stack.read { context in
        for name in ["double", "float"] {
          let error = try expectThrows(.invalidValue) {
            try update(context, [name: .product(.attribute(name), .value(.double(10)))])
          }
          try expect(error.message.contains("Sample.\(name)"), "the property in '\(error.message)'")
        }
        try context.execute(BatchUpdateRequest(entityName: "Sample", values: ["double": Double.infinity]))
        try expectEqual(try update(context, ["double": .sum(.attribute("double"), .value(.double(1)))]), 1)
        try expectEqual(try values(stack, "double"), [.double(.infinity)])
        _ = try expectThrows(.invalidValue) {
          try update(context, ["double": .difference(.attribute("double"), .attribute("double"))])
        }
        try expectEqual(try values(stack, "double"), [.double(.infinity)])
      }
    }
  }

  private static let meters = soundModel {
    Entity("Meter") {
      Attribute("count", .int32, default: 1)
      Attribute("limit", .int32, optional: true)
    }
  }

  @CasesBuilder private static var missingOperands: [Case] {
    withAndWithoutOptionalParts(
      "a required integer is calculated from an optional one, or the update is refused as a whole", model: meters
    ) { stack in
      try stack.write { context in
        try context.make("Meter", ["count": 1, "limit": 5])
        try context.make("Meter", ["count": 2])
      }
      func counts() throws -> [AttributeValue] {
        try stack.read { try $0.all("Meter", sort: [SortKey("count")]).map { try $0.value(for: "count") } }
      }
      try stack.read { context in
        for expression: UpdateExpression in [
          .sum(.attribute("limit"), one(1)), .product(one(2), .attribute("limit")),
          .sum(.attribute("count"), .value(.null)), .value(.null),
        ] {
          let error = try expectThrows(.missingValue) { try update(context, ["count": expression], of: "Meter") }
          try expect(error.message.contains("Meter.count"), "the property in '\(error.message)'")
        }
        try expectEqual(try counts(), [.int(1), .int(2)])
        let known = BatchUpdateRequest(
          entityName: "Meter", predicate: compare("limit", .notEqual, nil),
          expressions: ["count": .sum(.attribute("limit"), one(1))])
        try expectEqual(try context.execute(known).count, 1)
        try expectEqual(try counts(), [.int(2), .int(6)])
        try expectEqual(try update(context, ["limit": .sum(.attribute("count"), .value(.null))], of: "Meter"), 2)
        try expectEqual(try context.number(of: "Meter", where: equal("limit", nil)), 2)
      }
    }
  }

  @CasesBuilder private static var derivedResults: [Case] {
    withAndWithoutOptionalParts(
      "a calculation changes the values derived from its result, and the time of the save alone otherwise",
      model: Venues.model
    ) { stack in
      try stack.write { try $0.make("Seat", ["name": "a", "number": 1]) }
      func seat() throws -> [AttributeValue] {
        try stack.read { context in
          let seat = try context.one("Seat")
          return try ["name", "number", "nameFold", "savedAt"].map { try seat.value(for: $0) }
        }
      }
      let first = try seat()
      try stack.read { context in
        let name: UpdateExpression = .sum(.attribute("name"), .value(.string("\u{C9}")))
        try expectEqual(try update(context, ["name": name], of: "Seat"), 1)
      }
      let second = try seat()
      try expectEqual(Array(second.prefix(3)), [.string("a\u{C9}"), .int(1), .string("ae")])
      try expect(second[3].order(to: first[3]) > 0, "a later time")
      try stack.read { context in
        try expectEqual(try update(context, ["number": .sum(.attribute("number"), one(1))], of: "Seat"), 1)
      }
      let third = try seat()
      try expectEqual(Array(third.prefix(3)), [.string("a\u{C9}"), .int(2), .string("ae")])
      try expect(third[3].order(to: second[3]) > 0, "a later time")
    }
  }
}
