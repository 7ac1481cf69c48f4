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

  @Test func `a sum greater than the greatest decimal is the nearest double`() {
    for (sign, expected) in [(0 as UInt16, 6e165), (0x4000, -6e165)] {
      let buffer = ByteBuffer()
      // One group, the weight of the group, the sign, no decimals, the group.
      buffer.append(1 as Int16)
      buffer.append(41 as Int16)
      buffer.append(sign)
      buffer.append(0 as UInt16)
      buffer.append(60 as UInt16)
      let sum = withExtendedLifetime(buffer) {
        PostgreSQLBinary.decimalSum(UnsafeRawPointer(buffer.base), count: buffer.count)
      }
      #expect(sum == .double(expected))
    }
  }

  @Test func `a whole number beyond 128 bits is not read`() {
    // The greatest number is 170141183460469231731687303715884105727.
    for (last, isRead) in [(5727 as UInt16, true), (5728, false)] {
      let buffer = ByteBuffer()
      buffer.append(10 as Int16)
      buffer.append(9 as Int16)
      buffer.append(0 as UInt16)
      buffer.append(0 as UInt16)
      for group in [170, 1411, 8346, 469, 2317, 3168, 7303, 7158, 8410] as [UInt16] { buffer.append(group) }
      buffer.append(last)
      let number = withExtendedLifetime(buffer) {
        PostgreSQLBinary.integer(UnsafeRawPointer(buffer.base), count: buffer.count)
      }
      #expect(number == (isRead ? Int128.max : nil))
    }
  }
}
