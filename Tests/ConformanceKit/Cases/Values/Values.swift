import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let values = ConformanceSubject("Values") {
    integers
    floatingPoint
    decimals
    texts
    locations
    bytes
    times
    identifiers
    enumerations
    structures
  }

  // MARK: Families

  /// A value survives the store, is found by equality, and can be taken away again.
  private static func kept(_ what: String, _ attribute: String, _ value: some AttributeConvertible) -> Case {
    Case("\(what) is kept", model: Samples.model) { stack in
      let id = try stack.write { context in
        try context.make("Sample", ["name": "other"])
        let sample = try context.make("Sample", [attribute: value])
        try context.obtainPermanentIDs(for: [sample])
        return sample.objectID
      }
      try stack.reopen()
      try stack.read { context in
        let sample = try context.existingObject(with: id)
        try expect(try sample.value(for: attribute) == value.attributeValue, "the value that was saved")
        let found = try context.all("Sample", where: equal(attribute, value))
        try expectEqual(found.map(\.objectID), [id], "what is found by the value")
      }
      try stack.write { try $0.existingObject(with: id).setValue(nil, for: attribute) }
      try stack.read { context in
        try expectEqual(try context.existingObject(with: id).value(for: attribute), .null, "the cleared value")
        try expectEqual(try context.number(of: "Sample", where: equal(attribute, nil)), 2, "the number of nulls")
      }
    }
  }

  @CasesBuilder private static var integers: [Case] {
    kept("the smallest 16-bit integer", "int16", Int16.min)
    kept("the largest 16-bit integer", "int16", Int16.max)
    kept("the smallest 32-bit integer", "int32", Int32.min)
    kept("the largest 32-bit integer", "int32", Int32.max)
    kept("the smallest 64-bit integer", "int64", Int64.min)
    kept("the largest 64-bit integer", "int64", Int64.max)
    kept("an integer that no double can hold", "int64", Int64(9_007_199_254_740_993))
    kept("zero", "int64", 0)
    kept("minus one", "int16", -1)
    kept("true", "bool", true)
    kept("false", "bool", false)
  }

  @CasesBuilder private static var floatingPoint: [Case] {
    kept("a third", "double", 1.0 / 3)
    kept("the largest double", "double", Double.greatestFiniteMagnitude)
    kept("the smallest normal double", "double", Double.leastNormalMagnitude)
    kept("the smallest subnormal double", "double", Double.leastNonzeroMagnitude)
    kept("positive infinity", "double", Double.infinity)
    kept("negative infinity", "double", -Double.infinity)
    kept("a double that is a whole number", "double", 42.0)
    kept("a double beyond the integers", "double", 1e300)
    kept("a tenth as a float", "float", Float(0.1))
    kept("the largest float", "float", Float.greatestFiniteMagnitude)
    kept("the smallest subnormal float", "float", Float.leastNonzeroMagnitude)
    kept("an infinite float", "float", Float.infinity)
    Case("minus zero keeps its sign and equals zero", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample", ["double": -0.0]) }
      try stack.reopen()
      try stack.read { context in
        let sample = try context.one("Sample", where: equal("double", 0.0))
        let value: Double = try sample.value(for: "double")
        try expect(value == 0 && value.sign == .minus, "minus zero")
      }
    }
    Case("a whole number is accepted for a double", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample", ["double": 7]) }
      try stack.read { try expectEqual(try $0.one("Sample").value(for: "double", as: Double.self), 7) }
    }
  }

  @CasesBuilder private static var decimals: [Case] {
    kept("a price", "decimal", Decimal(sign: .plus, exponent: -2, significand: 1999))
    kept("a decimal of 38 digits", "decimal", decimal("99999999999999999999999999999999999999"))
    kept("a negative decimal of 38 digits", "decimal", decimal("-12345678901234567890.123456789012345678"))
    kept("a decimal that no double can hold", "decimal", decimal("0.1000000000000000000000000001"))
    kept("a decimal with a large exponent", "decimal", Decimal(sign: .plus, exponent: 100, significand: 7))
    kept("a decimal with a small exponent", "decimal", Decimal(sign: .minus, exponent: -100, significand: 7))
    kept("the decimal zero", "decimal", Decimal(0))
    Case("decimals are equal and ordered by value, not by digits", model: Samples.model) { stack in
      try stack.write { context in
        for text in ["10", "9.5", "-1", "1.50", "1e2"] {
          try context.make("Sample", ["name": text, "decimal": decimal(text)])
        }
      }
      try stack.read { context in
        let sorted = try context.names("Sample", sort: [SortKey("decimal")])
        try expectEqual(sorted, ["-1", "1.50", "9.5", "10", "1e2"])
        try expectEqual(try context.names("Sample", where: equal("decimal", decimal("1.5"))), ["1.50"])
        try expectEqual(try context.names("Sample", where: equal("decimal", decimal("100.0"))), ["1e2"])
      }
    }
  }

  static func decimal(_ text: String) -> Decimal { Decimal(string: text) ?? .nan }

  @CasesBuilder private static var locations: [Case] {
    kept("a location", "url", URL(string: "https://example.org/a%20b?q=1&r=%C3%A4#f") ?? URL.attributeDefault)
    kept("a location of a file", "url", URL(fileURLWithPath: "/tmp/a b.txt"))
    Case("a location has one stored text, whether it is assigned as a location or as a text", model: Samples.model) {
      stack in
      let text = "https://example.org/\u{E4} b"
      let location = try unwrap(URL(string: text), "a location")
      try stack.write { context in
        try context.make("Sample", ["name": "location", "url": location])
        try context.make("Sample", ["name": "text", "url": text])
        try context.make("Sample", ["name": "other", "url": "https://example.org/"])
      }
      try stack.read { context in
        for sample in try context.all("Sample", where: among("name", ["location", "text"])) {
          try expectEqual(try sample.value(for: "url", as: String.self), "https://example.org/%C3%A4%20b")
        }
        for condition in [equal("url", text), equal("url", location), among("url", [text]), among("url", [location])] {
          try expectEqual(try context.names("Sample", where: condition), ["location", "text"])
        }
        for condition in [equal("url", text), among("url", [text]), equal("@max.url", text)] {
          let groups = aggregate("Sample", by: ["url"], ["@count"]).changed { $0.havingPredicate = condition }
          try expectEqual(try context.table(groups), ["2"])
        }
      }
    }
  }

  @CasesBuilder private static var texts: [Case] {
    kept("the empty text", "string", "")
    kept("a text of a megabyte", "string", String(repeating: "0123456789abcdef", count: 65_536))
    kept("a precomposed text", "string", "caf\u{E9}")
    kept("a decomposed text", "string", "cafe\u{301}")
    kept("a text of emoji", "string", "👩‍👩‍👧‍👦🏳️‍🌈🇮🇸")
    kept("a text with quotes", "string", #"it's a "quoted" `text` ]"#)
    kept("a text with backslashes", "string", #"\n \\ \' \x00 $1 ?1 :a @b"#)
    kept("a text with wildcards", "string", "100%_*?[a-z]")
    kept("a text with line ends", "string", "a\nb\r\nc\rd\te\u{2028}f")
    kept("a text with spaces at its ends", "string", "  a  ")
    kept("a text that looks like SQL", "string", "'; DROP TABLE \"Sample\"; --")
    kept("a text that looks like null", "string", "NULL")
    kept("a text that looks like a number", "string", "007.0")
    kept("a text with control characters", "string", "\u{1}\u{7F}\u{1B}")
    kept("a text with a byte order mark", "string", "\u{FEFF}a")
    kept("the last character of Unicode", "string", "\u{10FFFF}")
    kept("a text from right to left", "string", "שלום עולם \u{202E}abc")
    Case("precomposed and decomposed text differ", model: Samples.model) { stack in
      try stack.write { context in
        try context.make("Sample", ["name": "precomposed", "string": "\u{E9}"])
        try context.make("Sample", ["name": "decomposed", "string": "e\u{301}"])
      }
      try stack.read { context in
        try expectEqual(try context.names("Sample", where: equal("string", "\u{E9}")), ["precomposed"])
        try expectEqual(try context.names("Sample", where: equal("string", "e\u{301}")), ["decomposed"])
      }
      try stack.write { context in
        let sample = try context.one("Sample", where: equal("name", "precomposed"))
        try sample.setValue("e\u{301}", for: "string")
        try expect(sample.hasChanges, "a change of form to be a change")
      }
      try stack.read {
        try expectEqual(try $0.number(of: "Sample", where: equal("string", "e\u{301}")), 2)
      }
    }
  }

  @CasesBuilder private static var bytes: [Case] {
    kept("no bytes", "data", Data())
    kept("a zero byte", "data", Data([0]))
    kept("every byte", "data", Data(0...255))
    kept("a megabyte", "data", Data((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
    kept("what a transformer made", "secret", Data("terces".utf8))
    Case("no bytes and no value differ", model: Samples.model) { stack in
      try stack.write { context in
        try context.make("Sample", ["name": "empty", "data": Data(), "string": ""])
        try context.make("Sample", ["name": "missing"])
      }
      try stack.read { context in
        try expectEqual(try context.names("Sample", where: equal("data", nil)), ["missing"])
        try expectEqual(try context.names("Sample", where: equal("data", Data())), ["empty"])
        try expectEqual(try context.names("Sample", where: equal("string", nil)), ["missing"])
        try expectEqual(try context.names("Sample", where: equal("string", "")), ["empty"])
      }
    }
  }

  @CasesBuilder private static var times: [Case] {
    Case("a date before 4714 BC is kept, or refused as an invalid value", model: Samples.model) { stack in
      let date = Date(timeIntervalSince1970: -300_000_000_000)
      var kept = 1
      do {
        try stack.write { try $0.make("Sample", ["date": date]) }
      } catch ErrorCode.invalidValue {
        kept = 0
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Sample"), kept)
        try expectEqual(try context.number(of: "Sample", where: compare("date", .less, Date.distantPast)), kept)
        try expectEqual(try context.number(of: "Sample", where: compare("date", .greater, date)), 0)
        try expectEqual(try context.number(of: "Sample", where: equal("date", date)), kept)
        if kept == 1 { try expectEqual(try context.one("Sample").value(for: "date", as: Date.self), date) }
      }
    }
    kept("the first moment of 1970", "date", Date(timeIntervalSince1970: 0))
    kept("a microsecond before 1970", "date", Timestamp(microseconds: -1).date)
    kept("a date of the eighteenth century", "date", Timestamp(microseconds: -6_000_000_000_000_001).date)
    kept("a microsecond of the year 1000 that no date has", "date", Timestamp(microseconds: -30_610_224_000_000_001))
    kept("a microsecond of the year 4000 that no date has", "date", Timestamp(microseconds: 64_060_588_800_000_001))
    kept("the distant past", "date", Date.distantPast)
    kept("the distant future", "date", Date.distantFuture)
    kept("a moment of a leap day", "date", Timestamp(microseconds: 1_709_164_799_999_999).date)
    Case("a date is rounded to the microsecond when it is assigned", model: Samples.model) { stack in
      let date = Date(timeIntervalSince1970: 1_000_000_000.123_456_7)
      try stack.write { context in
        let sample = try context.make("Sample", ["date": date])
        try expectEqual(try sample.value(for: "date"), .date(Timestamp(microseconds: 1_000_000_000_123_457)))
      }
      try stack.reopen()
      try stack.write { context in
        let sample = try context.one("Sample", where: equal("date", date))
        try expectEqual(try sample.value(for: "date"), .date(Timestamp(microseconds: 1_000_000_000_123_457)))
        try sample.setValue(date, for: "date")
        try expect(!sample.hasChanges, "the same date not to be a change")
      }
    }
  }

  @CasesBuilder private static var identifiers: [Case] {
    kept("the nil UUID", "uuid", UUID.attributeDefault)
    kept("a random UUID", "uuid", UUID())
    kept("the UUID of all ones", "uuid", UUID(uuidString: "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF") ?? UUID())
    Case("UUIDs are ordered byte by byte", model: Samples.model) { stack in
      try stack.write { context in
        for digit in ["8", "0", "F", "7"] {
          let uuid = UUID(uuidString: "\(digit)0000000-0000-0000-0000-000000000000")
          try context.make("Sample", ["name": digit]).setValue(uuid, for: "uuid")
        }
      }
      try stack.read {
        try expectEqual(try $0.names("Sample", sort: [SortKey("uuid")]), ["0", "7", "8", "F"])
      }
    }
  }

  @CasesBuilder private static var enumerations: [Case] {
    kept("a case of an enumeration of texts", "mood", Mood.gloomy)
    kept("a case of an enumeration of numbers", "level", Level.high)
    Case("a raw value that no case has is kept where the model does not list the cases", model: Samples.model) {
      stack in
      try stack.write { try $0.make("Sample", ["level": 5]) }
      try stack.read { context in
        let sample = try context.one("Sample")
        try expectEqual(try sample.value(for: "level", as: Int.self), 5)
        try expectThrows(.wrongType) { try sample.value(for: "level", as: Level.self) }
      }
    }
  }

  @CasesBuilder private static var structures: [Case] {
    Case("a codable value is kept", model: Samples.model) { stack in
      let value = Preferences(tags: ["ä", "\"", ""], limits: ["b": 2, "a": -1])
      try stack.write { try $0.make("Sample").setCodable(value, for: "codable") }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Sample").codable(for: "codable", as: Preferences.self), value) }
    }
    Case("setting a codable value to an equal value is no change", model: Samples.model) { stack in
      let value = Preferences(tags: [], limits: ["a": 1, "b": 2, "c": 3, "d": 4])
      try stack.write { try $0.make("Sample").setCodable(value, for: "codable") }
      try stack.read { context in
        let sample = try context.one("Sample")
        try sample.setCodable(value, for: "codable")
        try expect(!sample.hasChanges, "no change")
      }
    }
    Case("a composite is kept in parts and read as a whole", model: Samples.model) { stack in
      let place = Place(street: "Laugavegur", number: 12, latitude: 64.146, isHome: true)
      try stack.write { try $0.make("Sample").setCodable(place, for: "place") }
      try stack.reopen()
      try stack.read { context in
        let sample = try context.one("Sample", where: equal("place.number", 12))
        try expectEqual(try sample.codable(for: "place", as: Place.self), place)
        try expectEqual(try sample.value(for: "place.street", as: String.self), "Laugavegur")
      }
    }
    Case("a composite set to nil has no parts", model: Samples.model) { stack in
      try stack.write { context in
        let sample = try context.make("Sample")
        try sample.setCodable(Place(street: "a", number: 1), for: "place")
        try sample.setCodable(Place?.none, for: "place")
      }
      try stack.read { context in
        let sample = try context.one("Sample", where: equal("place.street", nil))
        try expectEqual(try sample.codable(for: "place", as: Place.self), nil)
      }
    }
  }
}
