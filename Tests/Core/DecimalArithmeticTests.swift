import CoherenceCore
import Foundation
import Testing

/// Calculations and comparisons of decimals at the ends of their range.
@Suite struct DecimalArithmeticTests {
  /// The decimal of an integer and a power of ten.
  private func number(_ significand: Int, _ exponent: Int = 0) -> AttributeValue {
    let sign: FloatingPointSign = significand < 0 ? .minus : .plus
    return .decimal(Decimal(sign: sign, exponent: exponent, significand: Decimal(significand.magnitude)))
  }

  private func result(
    _ operation: ArithmeticOperator, _ left: AttributeValue, _ right: AttributeValue
  ) throws -> AttributeValue {
    try #require(Arithmetic(operation, .decimal, .decimal)).value(left, right)
  }

  @Test func `a product or a quotient close to zero is rounded to the least decimal, half away from zero`() throws {
    let least = -128
    #expect(try result(.multiply, number(1, -100), number(1, -28)) == number(1, least))
    #expect(try result(.multiply, number(4, -100), number(1, -29)) == number(0))
    #expect(try result(.multiply, number(5, -100), number(1, -29)) == number(1, least))
    #expect(try result(.multiply, number(-5, -100), number(1, -29)) == number(-1, least))
    #expect(try result(.multiply, number(0), number(1, -128)) == number(0))
    #expect(try result(.divide, number(1, -128), number(1, -10)) == number(1, -118))
    #expect(try result(.divide, number(1, -128), number(2)) == number(1, least))
    #expect(try result(.divide, number(-1, -128), number(2)) == number(-1, least))
    #expect(try result(.divide, number(1, -128), number(3)) == number(0))
    #expect(try result(.divide, number(6, -90), number(2)) == number(3, -90))
  }

  private func decimal(_ text: String) throws -> AttributeValue { .decimal(try #require(Decimal(string: text))) }

  @Test func `a result of more than 38 digits is the exact result, rounded half away from zero`() throws {
    let calculations: [(String, ArithmeticOperator, String, String)] = [
      ("82650252245564210856014196155759592766", .add, "9.9", "82650252245564210856014196155759592776"),
      (
        "-1000000000000000000000000000000000000", .add, "812555091072846.17957",
        "-999999999999999999999187444908927153.82"
      ),
      ("10000000000000000", .subtract, "0.00000000445240760973157", "9999999999999999.9999999955475923902684"),
      ("5", .subtract, "5", "0"), ("0.1", .subtract, "-0.2", "0.3"),
      (
        "98216916452451108884", .multiply, "-897410303879200213615072218013",
        "-88140872839672168641885147803705607284000000000000"
      ),
      ("1985.2", .multiply, "0.5", "992.6"), ("2", .divide, "3", "0.66666666666666666666666666666666666667"),
      (
        "-50000000000000000000", .divide, "-55559303712194108028.813943056842818319",
        "0.89993928395877364373868579202681653365"
      ),
      ("9.99", .divide, "-3", "-3.33"),
    ]
    for (left, operation, right, expected) in calculations {
      #expect(
        try result(operation, decimal(left), decimal(right)) == decimal(expected), "\(left) \(operation) \(right)")
    }
  }

  @Test func `a calculation without a decimal result is missing`() throws {
    #expect(try result(.divide, number(1), number(0)) == .null)
    #expect(try result(.multiply, number(1, 100), number(1, 100)) == .null)
    let none = AttributeValue.decimal(.nan)
    for operation in [ArithmeticOperator.add, .subtract, .multiply, .divide] {
      #expect(try result(operation, none, number(1)) == .null)
      #expect(try result(operation, number(1), none) == .null)
      #expect(try result(operation, .null, number(1)) == .null)
      #expect(try result(operation, number(1), .double(1)) == .null)
    }
  }

  @Test func `only numbers with a common type are calculated`() {
    for operation in ArithmeticOperator.allCases {
      #expect(Arithmetic(operation, .decimal, .double) == nil && Arithmetic(operation, .double, .decimal) == nil)
      #expect(Arithmetic(operation, .integer, .integer)?.result == .integer)
      let isRemainder = operation == .remainder
      #expect(Arithmetic(operation, .integer, .double)?.result == (isRemainder ? nil : .double))
      #expect(Arithmetic(operation, .decimal, .integer)?.result == (isRemainder ? nil : .decimal))
      #expect(Arithmetic(operation, .double, .double)?.result == (isRemainder ? nil : .double))
    }
  }

  @Test func `integers widen in calculations with other numbers`() throws {
    let mixed = try #require(Arithmetic(.subtract, .integer, .decimal))
    #expect(mixed.value(.int(3), number(5, -1)) == number(25, -1))
    let doubles = try #require(Arithmetic(.divide, .double, .integer))
    #expect(doubles.value(.double(1), .int(4)) == .double(0.25))
    #expect(doubles.value(.double(1), .int(0)) == .null)
    #expect(doubles.value(.int(1), .int(4)) == .null)
  }

  @Test func `a decimal near the ends of the range is compared with the shortest decimal number of a double`() throws {
    for (text, double, order) in [
      ("1000e127", 1e129, 1), ("1000e127", 1e130, 0), ("1000e127", 1.5e130, -1), ("1500e127", 1.5e130, 0),
      ("-1000e127", -1e129, -1), ("-1000e127", -1e130, 0), ("1e-120", 1.2345678901234567e-115, -1),
      ("-1e-120", -1.2345678901234567e-115, 1), ("1e-110", 1.2345678901234567e-115, 1),
    ] as [(String, Double, Int)] {
      let decimal = try decimal(text)
      #expect(decimal.order(to: .double(double)).signum() == order, "\(text) and \(double)")
      #expect(AttributeValue.double(double).order(to: decimal).signum() == -order, "\(double) and \(text)")
    }
  }

  @Test func `a decimal is compared with a double beyond the range of decimals`() {
    let tiny = 1e-200
    let huge = 1e300
    for (decimal, double, order) in [
      (number(1, -120), tiny, 1), (number(1, -120), -tiny, 1), (number(-1, -120), tiny, -1),
      (number(-1, -120), -tiny, -1), (number(0), tiny, -1), (number(0), -tiny, 1), (number(1, 100), huge, -1),
      (number(-1, 100), huge, -1), (number(1, 100), -huge, 1), (number(0), .infinity, -1), (number(0), -.infinity, 1),
      (number(0), 0, 0), (number(1, -1), 0.1, 0),
    ] as [(AttributeValue, Double, Int)] {
      #expect(decimal.order(to: .double(double)).signum() == order, "\(decimal) and \(double)")
      #expect(AttributeValue.double(double).order(to: decimal).signum() == -order, "\(double) and \(decimal)")
    }
  }
}
