import CoherenceCore
import Foundation

/// Derived sums and averages of numbers at the limits of their types.
extension ConformanceSubject {
  @CasesBuilder static var derivedSums: [Case] {
    deriving("a derived sum of integers is exact, although a part of it is out of range", model: sumModel) { stack in
      try stack.write { context in
        let box = try context.make("Box")
        for size in [Int64.max, 1, -5] { try context.make("Part", ["size": size]).setObject(box, for: "box") }
      }
      try stack.read { context in
        let box = try context.one("Box")
        try expectEqual(try box.value(for: "total"), .int(Int64.max - 4), "the sum")
        try expectEqual(try box.value(for: "mean"), .double(Double(Int64.max - 4) / 3), "the average")
      }
    }
    deriving("a derived sum of floating-point numbers reaches infinity", model: sumModel) { stack in
      try expectWeight(of: [.greatestFiniteMagnitude, .greatestFiniteMagnitude, 1], .double(.infinity), stack)
    }
    deriving("a derived sum of floating-point numbers reaches negative infinity", model: sumModel) { stack in
      let least = -Double.greatestFiniteMagnitude
      try expectWeight(of: [least, least, -1], .double(-Double.infinity), stack)
    }
    deriving("a derived sum of large numbers in range is finite", model: sumModel) { stack in
      let large = Double.greatestFiniteMagnitude
      try expectWeight(of: [large, 1, 0.25], .double(large), stack)
      try expectWeight(of: [large / 4, large / 4, -1], .double(large / 2), stack)
    }
    deriving("a derived sum of the smallest numbers is exact", model: sumModel) { stack in
      let least = Double.leastNonzeroMagnitude
      try expectWeight(of: [least, least, least], .double(3 * least), stack)
    }
    deriving("a derived average of the smallest numbers is rounded like any other number", model: sumModel) { stack in
      let least = Double.leastNonzeroMagnitude
      let lists = [
        [least, 0], [-least, 0, 0], [least, least, 0], [3 * least, 0], [least, -least], [10_000 * least, 1e-300],
      ]
      for weights in lists {
        try expectWeight(of: weights, .double(weights.reduce(0, +)), stack)
      }
    }
    deriving("opposite infinities have no derived sum", model: sumModel) { stack in
      try expectWeight(of: [Double.infinity, 1, -Double.infinity], .null, stack)
    }
    deriving("an infinite number has an infinite derived sum", model: sumModel) { stack in
      try expectWeight(of: [1, .infinity, .greatestFiniteMagnitude], .double(.infinity), stack)
    }
  }

  /// Saves a box of parts with some weights, and compares the sum of the weights. The average is the sum divided by the
  /// number of parts.
  private static func expectWeight(of weights: [Double], _ sum: AttributeValue, _ stack: ConformanceStack) throws {
    let id = try stack.write { context in
      let box = try context.make("Box")
      for weight in weights {
        try context.make("Part", ["size": 1, "weight": weight]).setObject(box, for: "box")
      }
      try context.obtainPermanentIDs(for: [box])
      return box.objectID
    }
    try stack.read { context in
      let box = try context.existingObject(with: id)
      try expectEqual(try box.value(for: "weight"), sum, "the sum")
      var average = AttributeValue.null
      if case .double(let number) = sum { average = .double(number / Double(weights.count)) }
      try expectEqual(try box.value(for: "meanWeight"), average, "the average")
    }
  }

  private static let sumModel = soundModel {
    Entity("Box") {
      Attribute("total", .int64, derived: .sum("parts.size"))
      Attribute("mean", .double, derived: .average("parts.size"))
      Attribute("weight", .double, derived: .sum("parts.weight"))
      Attribute("meanWeight", .double, derived: .average("parts.weight"))
      Relationship("parts", toMany: "Part", inverse: "box")
    }
    Entity("Part") {
      Attribute("size", .int64)
      Attribute("weight", .double, default: 0.0)
      Relationship("box", toOne: "Box", inverse: "parts")
    }
  }
}
