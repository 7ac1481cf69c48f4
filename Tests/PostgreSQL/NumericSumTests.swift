import CoherenceCore
@testable import CoherencePostgreSQL
import Foundation
import TestRandom
import Testing

/// Sums in the server's format of `numeric`.
@Suite struct NumericSumTests {
  private func bytes(of number: Decimal) throws -> ByteBuffer {
    let buffer = ByteBuffer()
    try buffer.append(number)
    return buffer
  }

  @Test(arguments: SeededRandom.seeds) func `whole numbers are read exactly`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var numbers: [Int128] = [0, 1, -1, 10_000, -10_000, 99_990_000, Int128(Int64.max) * 1_000, Int128(Int64.min)]
    for _ in 0..<500 {
      numbers.append(Int128(Int64.random(in: .min ... .max, using: &random)) * Int128(random.next(below: 9_000)))
    }
    for number in numbers {
      let buffer = try bytes(of: try #require(Decimal(string: "\(number)")))
      #expect(PostgreSQLBinary.integer(UnsafeRawPointer(buffer.base), count: buffer.count) == number)
    }
    let fraction = try bytes(of: 0.5)
    #expect(PostgreSQLBinary.integer(UnsafeRawPointer(fraction.base), count: fraction.count) == nil)
  }

  @Test func `a sum of more digits than a decimal has is a double`() throws {
    for (text, isDecimal) in [
      ("99999999999999999999999999999999999999", true), ("0.25", true), ("-7e100", true),
      ("340282366920938463463374607431768211455", false),
    ] {
      let number = try #require(Decimal(string: text))
      let buffer = try bytes(of: number)
      let sum = PostgreSQLBinary.decimalSum(UnsafeRawPointer(buffer.base), count: buffer.count)
      #expect((sum == .decimal(number)) == isDecimal, "\(text)")
      if case .double? = sum { #expect(!isDecimal) }
    }
  }
}
