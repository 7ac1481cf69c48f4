import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// Conditions on integers with fractions, and with numbers that the type of the attribute does not have.
  static let numberConditions = ConformanceSubject("Conditions on numbers") {
    compared("int16", [Int64(Int16.min), -2, -1, 0, 1, 2, Int64(Int16.max)])
    compared("int32", [Int64(Int32.min), -2, -1, 0, 1, 2, Int64(Int32.max)])
    compared("int64", [.min, .min + 1, -2, -1, 0, 1, 2, .max - 1, .max])
  }

  private static let fractions: [Double] = [-1.5, -0.5, 0.5, 1, 1.5, 32_767.5, -32_768.5, 2_147_483_647.5]
  private static let remoteNumbers: [Double] = [
    1e10, -1e10, 0x1p63, -0x1p63, 9.3e18, -9.3e18, 1e300, -1e300, .infinity, -.infinity,
  ]
  private static let decimals = [
    "-1.5", "-0.5", "0.5", "1", "1.5", "9223372036854775807.5", "-9223372036854775808.5", "1e30", "-1e30",
  ]
  private static let integers: [Int64] = [
    0, 2, 40_000, -40_000, 3_000_000_000, -3_000_000_000, 5_000_000_000_000, .max, .min,
  ]

  private static var constants: [AttributeValue] {
    let doubles = (fractions + remoteNumbers).map { AttributeValue.double($0) }
    let exactNumbers = decimals.map { AttributeValue.decimal(decimal($0)) }
    return doubles + exactNumbers + integers.map { AttributeValue.int($0) }
  }

  private static let operators: [ComparisonOperator] = [
    .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
  ]

  /// Whether the order of a number to a constant satisfies a comparison with the constant.
  private static func holds(_ comparison: ComparisonOperator, _ order: Int) -> Bool {
    switch comparison {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    default: false
    }
  }

  private static func compared(_ attribute: String, _ numbers: [Int64]) -> Case {
    Case("an \(attribute) is compared with every number by value, and never rounded", model: Samples.model) { stack in
      try stack.write { context in
        try context.make("Sample", ["name": "none"])
        for number in numbers { try context.make("Sample", ["name": "\(number)", attribute: number]) }
      }
      let path = FetchExpression.path(PropertyPath(attribute))
      try stack.read { context in
        func check(_ predicate: FetchPredicate, missing: Bool, _ holds: (Int64) -> Bool) throws {
          let expected = (missing ? ["none"] : []) + numbers.filter(holds).map { "\($0)" }
          let found = try context.names("Sample", where: predicate)
          try expectEqual(Set(found), Set(expected), "the result of \(predicate)")
        }
        for constant in constants {
          func order(_ number: Int64) -> Int { AttributeValue.int(number).order(to: constant) }
          for comparison in operators {
            let isMissing = comparison == .notEqual
            try check(.comparison(path, comparison, .value(constant)), missing: isMissing) {
              holds(comparison, order($0))
            }
            try check(.comparison(.value(constant), comparison, path), missing: isMissing) {
              holds(comparison, -order($0))
            }
          }
          try check(.membership(path, in: [constant, .int(-2)]), missing: false) { order($0) == 0 || $0 == -2 }
          try check(.not(.membership(path, in: [constant, .null])), missing: false) { order($0) != 0 }
          try check(.between(path, .value(.double(-1.5)), .value(constant)), missing: false) {
            $0 > -2 && order($0) <= 0
          }
          try check(.between(path, .value(constant), .value(.decimal(decimal("1.5")))), missing: false) {
            order($0) >= 0 && $0 < 2
          }
        }
      }
    }
  }
}
