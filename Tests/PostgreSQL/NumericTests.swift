import CoherenceCore
@testable import CoherencePostgreSQL
import Foundation
import TestSupport
import TestRandom
import Testing

@Suite struct NumericTests {
  /// Writes a number and returns the number that a read finds.
  private func roundTrip(_ number: Decimal) throws -> Decimal? {
    let buffer = ByteBuffer()
    try buffer.append(number)
    return PostgreSQLBinary.decimal(UnsafeRawPointer(buffer.base), count: buffer.count)
  }

  private static let boundaries = [
    "0", "1", "-1", "9999", "10000", "10001", "0.0001", "0.00001", "-0.1", "0.10", "1.0000", "100000000",
    "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999",
    "340282366920938463463374607431768211455", "340282366920938463463374607431768211455e127",
    "340282366920938463463374607431768211455e-128", "5e127", "-7e126", "3e125", "1e124", "1e-125", "1e-126", "1e-127",
    "1e-128", "340282366920938463463374607431768211455e-127", "340282366920938463463374607431768211455e-126",
    "123456789012345678901234567890.12345678",
  ]

  @Test(arguments: boundaries) func `a stored number is read unchanged`(_ text: String) throws {
    let number = try #require(Decimal(string: text))
    #expect(try roundTrip(number) == number)
    #expect(try roundTrip(-number) == -number)
  }

  @Test func `random stored numbers are read unchanged`() throws {
    let seed = UInt64.random(in: .min ... .max)
    var generator = SeededRandom(seed: seed)
    for _ in 0..<2000 {
      let digits = (0..<Int.random(in: 1...38, using: &generator)).map { _ in Int.random(in: 0...9, using: &generator) }
      let exponent = Int.random(in: -128...89, using: &generator)
      let number = try #require(Decimal(string: digits.map(String.init).joined() + "e\(exponent)"))
      #expect(try roundTrip(number) == number, "seed \(seed), \(number)")
    }
  }

  @Test func `saving a decimal NaN is refused`() {
    let error = #expect(throws: CoherenceError.self) { try roundTrip(.nan) }
    #expect(error?.code == .invalidValue)
  }

  @Test func `digits beyond the precision of a decimal are truncated`() {
    let buffer = ByteBuffer()
    buffer.append(15 as Int16)
    buffer.append(14 as Int16)
    buffer.append(0 as Int16)
    buffer.append(0 as Int16)
    for _ in 0..<15 { buffer.append(1111 as Int16) }
    let number = PostgreSQLBinary.decimal(UnsafeRawPointer(buffer.base), count: buffer.count)
    #expect(number?.description == String(repeating: "1", count: 39) + String(repeating: "0", count: 21))
  }

  @Test(arguments: [0xC000, 0xD000, 0xF000]) func `a NaN or an infinity is not read as a decimal`(_ sign: Int) {
    let buffer = ByteBuffer()
    for field in [0, 0, UInt16(sign), 0] { buffer.append(field) }
    #expect(PostgreSQLBinary.decimal(UnsafeRawPointer(buffer.base), count: buffer.count) == nil)
  }
}
