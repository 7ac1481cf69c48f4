import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let structuredValues = ConformanceSubject("Structured values") {
    composites
    numbersOfComposites
    codables
    durations
  }

  @CasesBuilder private static var composites: [Case] {
    Case("a typed composite is kept in parts, with composites in it", model: Parcels.model) { stack in
      let extent = Extent(width: 0.5, height: 2, corner: Corner(x: -1, y: .max))
      try stack.write { context in
        let parcel = try Parcel(context: context)
        parcel.size = extent
        parcel.cover = extent
        parcel.place = Corner(x: 7, y: 8)
      }
      try stack.reopen()
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel", where: equal("size.corner.x", -1)) as? Parcel)
        try expectEqual(parcel.size, extent)
        try expectEqual(parcel.cover, extent)
        try expectEqual(parcel.place, Corner(x: 7, y: 8), "a composite with its parts in another order")
        try expectEqual(try parcel.value(for: "place.y"), .int(8))
        try expectEqual(try parcel.composite(for: "cover", as: Extent?.self), extent)
      }
    }
    Case("a codable value that is a typed composite is set and read by name as the composite", model: Parcels.model) {
      stack in
      try stack.write { try $0.make("Parcel").setCodable(Corner(x: 7, y: 8), for: "place") }
      try stack.reopen()
      try stack.write { context in
        let parcel = try unwrap(try context.one("Parcel", where: equal("place.x", 7)) as? Parcel)
        try expectEqual(parcel.place, Corner(x: 7, y: 8), "the value of the accessor")
        try expectEqual(try parcel.codable(for: "place", as: Corner.self), Corner(x: 7, y: 8))
        try expectThrows(.wrongType) { try parcel.setCodable(Corner(x: 1, y: 2), for: "size") }
        try parcel.setCodable(Corner?.none, for: "place")
      }
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel", where: equal("place.x", nil)) as? Parcel)
        try expectEqual(try parcel.codable(for: "place", as: Corner.self), nil)
        try expectEqual(parcel.size, Extent(width: 1, height: nil, corner: Corner(x: 2, y: 3)), "the other composite")
      }
    }
    Case("a new object has the default of a composite, and an optional composite is missing", model: Parcels.model) {
      stack in
      try stack.write { _ = try Parcel(context: $0) }
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel") as? Parcel)
        try expectEqual(parcel.size, Extent(width: 1, height: nil, corner: Corner(x: 2, y: 3)))
        try expectEqual(parcel.cover, nil)
      }
    }
    Case("assigning nil to a composite clears its parts, and an inner composite alone", model: Parcels.model) {
      stack in
      try stack.write { context in
        let parcel = try Parcel(context: context)
        parcel.size = Extent(width: 1, height: 1, corner: nil)
        parcel.cover = Extent(width: 1, height: 1, corner: nil)
        parcel.cover = nil
      }
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel", where: equal("cover.width", nil)) as? Parcel)
        try expectEqual(parcel.cover, nil)
        try expectEqual(parcel.size, Extent(width: 1, height: 1, corner: nil))
      }
    }
    Case("assigning an equal composite is no change, and a refused part changes nothing", model: Parcels.model) {
      stack in
      try stack.write { _ = try Parcel(context: $0) }
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel") as? Parcel)
        parcel.size = parcel.size
        try expect(!parcel.hasChanges, "no change")
        try expectThrows(.invalidValue) {
          try parcel.setComposite(Extent(width: 9, height: .nan, corner: nil), for: "size")
        }
        try expect(!parcel.hasChanges, "no change")
        try expectThrows(.wrongType) { try parcel.setCodable(["x": 2.5, "y": 4], for: "place") }
        try expect(!parcel.hasChanges, "no change by a fraction, nor by the part before it")
        try expectThrows(.wrongType) { try parcel.composite(for: "size", as: Corner.self) }
        try expectThrows(.wrongType) { try parcel.composite(for: "name", as: Corner.self) }
        try expectThrows(.unknownProperty) { try parcel.composite(for: "depth", as: Corner.self) }
      }
    }
  }

  @CasesBuilder private static var numbersOfComposites: [Case] {
    Case("a composite set to a codable structure keeps every number exactly", model: gaugeModel) { stack in
      let few = try unwrap(Decimal(string: "3.133"))
      let many = try unwrap(Decimal(string: "-12345678901234567890.123456789012345678"))
      let numbers = GaugeNumbers(third: 1.0 / 3, limit: -Double.infinity, few: few, many: many, whole: .max)
      try stack.write { try $0.make("Gauge").setCodable(numbers, for: "numbers") }
      try stack.reopen()
      try stack.read { context in
        let gauge = try context.one("Gauge", where: equal("numbers.third", 1.0 / 3))
        try expectEqual(try gauge.value(for: "numbers.limit"), .double(-Double.infinity))
        try expectEqual(try gauge.value(for: "numbers.few"), .decimal(few))
        try expectEqual(try gauge.value(for: "numbers.many"), .decimal(many))
        try expectEqual(try gauge.value(for: "numbers.whole"), .int(Int64.max))
        try expectEqual(try gauge.codable(for: "numbers", as: GaugeNumbers.self), numbers)
      }
    }
    Case("a composite set to a codable structure with not-a-number is refused", model: gaugeModel) { stack in
      try stack.read { context in
        let gauge = try context.make("Gauge")
        try expectThrows(.invalidValue) { try gauge.setCodable(["whole": 1, "third": Double.nan], for: "numbers") }
        try expectEqual(try gauge.value(for: "numbers.whole"), .null)
      }
    }
  }

  private static let gaugeModel = soundModel {
    Entity("Gauge") {
      CompositeAttribute(
        "numbers",
        parts: [
          Attribute("third", .double, optional: true), Attribute("limit", .double, optional: true),
          Attribute("few", .decimal, optional: true), Attribute("many", .decimal, optional: true),
          Attribute("whole", .int64, optional: true),
        ])
    }
  }

  @CasesBuilder private static var codables: [Case] {
    Case("a codable value is kept through a typed accessor", model: Parcels.model) { stack in
      try stack.write { context in
        let parcel = try Parcel(context: context)
        try expectEqual(parcel.tags, ["new"], "the default")
        try expectEqual(parcel.contents, nil)
        parcel.tags.append("ä")
        parcel.contents = Contents(names: ["a\"b"])
      }
      try stack.reopen()
      try stack.write { context in
        let parcel = try unwrap(try context.one("Parcel") as? Parcel)
        try expectEqual(parcel.tags, ["new", "ä"])
        try expectEqual(parcel.tags, ["new", "ä"], "the tags read again")
        try expectEqual(parcel.contents, Contents(names: ["a\"b"]))
        parcel.contents = nil
        try expectEqual(parcel.contents, nil)
      }
      try stack.read { try expectEqual(try $0.number(of: "Parcel", where: equal("contents", nil)), 1) }
    }
    Case("a codable accessor shows the value that another context saved", model: Parcels.model) { stack in
      try stack.write { _ = try Parcel(context: $0) }
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel") as? Parcel)
        try expectEqual(parcel.tags, ["new"])
        try stack.write { other in try unwrap(try other.one("Parcel") as? Parcel).tags = ["other"] }
        context.refresh(parcel, mergeChanges: false)
        try expectEqual(parcel.tags, ["other"])
        parcel.tags = ["mine"]
        context.rollback()
        try expectEqual(parcel.tags, ["other"])
      }
    }
    Case(
      "a codable value that cannot be decoded is reported, and the accessor returns the default", model: Parcels.model
    ) {
      stack in
      try stack.write { try $0.make("Parcel", ["contents": "[1]"]) }
      try stack.read { context in
        let parcel = try unwrap(try context.one("Parcel") as? Parcel)
        try expectEqual(parcel.contents, nil)
        try expect(parcel.isUnavailable, "the object to be marked")
      }
    }
  }

  @CasesBuilder private static var durations: [Case] {
    Case("a duration is kept to the nanosecond, and found by comparison", model: Parcels.model) { stack in
      let short = Duration.nanoseconds(1_500_000_001)
      try stack.write { context in
        try Parcel(context: context).journey = short
        try Parcel(context: context).journey = .seconds(-3)
      }
      try stack.read { context in
        let parcel = try unwrap(
          try context.one("Parcel", where: compare("journey", .greater, Duration.zero)) as? Parcel)
        try expectEqual(parcel.journey, short)
        try expectThrows(.invalidValue) { try parcel.setValue(Duration.seconds(10_000_000_000), for: "journey") }
        try expectEqual(parcel.journey, short)
      }
    }
    Case("defaults that a class computes are set once, before the insert", model: Parcels.model) { stack in
      try stack.write { context in
        let letter = try Letter(context: context)
        try expectEqual(letter.journey, .seconds(1))
        letter.journey = .seconds(2)
        try expectEqual(try context.insertNewObject(forEntityName: "Letter").value(for: "journey"), .int(1_000_000_000))
      }
      try stack.read { context in
        let journeys = try context.all("Letter").compactMap { ($0 as? Letter)?.journey }
        try expectEqual(journeys.sorted(), [.seconds(1), .seconds(2)])
      }
    }
  }
}

/// The parts of a composite of numbers.
private struct GaugeNumbers: Codable, Sendable, Equatable {
  var third: Double
  var limit: Double
  var few: Decimal
  var many: Decimal
  var whole: Int64
}
