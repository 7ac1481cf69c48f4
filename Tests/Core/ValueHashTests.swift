import CoherenceCore
import Foundation
import Testing

/// The hashes of values, by which batch inserts and stores find equal values.
@Suite struct ValueHashTests {
  /// Numbers of many digits, with an increment that changes the last digits only.
  private static let decimals = [
    ("12345678901234567890123456789012340000", "1"), ("1e30", "1"), ("-0.99999999999999999999999999999990000", "1e-35"),
  ]

  @Test(arguments: decimals)
  func `decimals that differ in their last digits have different hashes`(first: String, increment: String) throws {
    let first = try #require(Decimal(string: first))
    let increment = try #require(Decimal(string: increment))
    let hashes = Set((0..<1000).map { AttributeValue.decimal(first + increment * Decimal($0)).hashValue })
    #expect(hashes.count == 1000)
  }

  @Test(arguments: ["1.5", "12345678901234567890123456789012345", "0", "-3e20", "1e-30"])
  func `equal decimals have equal hashes, however they are written`(text: String) throws {
    let number = try #require(Decimal(string: text))
    let zero = Decimal(sign: .plus, exponent: 5, significand: 0)
    let digits = Decimal(sign: number.sign, exponent: number.exponent, significand: number.significand)
    for other in [digits, number * 1, number + zero, number * 10 / 10] where other == number {
      #expect(AttributeValue.decimal(other).hashValue == AttributeValue.decimal(number).hashValue, "\(other)")
    }
    #expect(AttributeValue.decimal(zero).hashValue == AttributeValue.decimal(0).hashValue)
  }

  @Test func `data that differ in their last bytes have different hashes`() {
    let beginning = Data(repeating: 1, count: 200)
    let hashes = Set((0..<1000).map { AttributeValue.data(beginning + Data("\(1000 + $0)".utf8)).hashValue })
    #expect(hashes.count == 1000)
    let slice = (Data([9]) + beginning).dropFirst()
    #expect(AttributeValue.data(slice).hashValue == AttributeValue.data(beginning).hashValue)
  }
}
