import CoherenceCore
import Foundation
import TestRandom
import Testing

@Suite struct DecimalSumTests {
  private func sum(_ texts: [String]) -> AttributeValue {
    let sum = DecimalSum()
    for text in texts {
      var text = text
      text.withUTF8 { sum.add(digits: $0) }
    }
    return sum.value
  }

  private func decimal(_ text: String) throws -> AttributeValue {
    .decimal(try #require(Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))))
  }

  @Test(arguments: [
    (["0"], "0"), (["-0"], "0"), (["0.1", "0.2"], "0.3"), (["1.50", "-1.5"], "0"), (["-3", "2.75"], "-0.25"),
    (["999999999", "1"], "1000000000"), (["-1000000000", "1"], "-999999999"), (["0.000000001", "-1"], "-0.999999999"),
    (["12345678901234567890123456789012345678", "1"], "12345678901234567890123456789012345679"),
    (["100000000000000000000000000000000000000", "0"], "100000000000000000000000000000000000000"),
    (["1000000000000000000000000000000000000000000000"], "1e45"),
  ])
  func `a sum is exact`(numbers: [String], expected: String) throws {
    #expect(sum(numbers) == (try decimal(expected)))
    #expect(sum(numbers.reversed()) == (try decimal(expected)))
  }

  @Test func `the least and greatest decimals keep their digits`() throws {
    for text in ["1e-128", "9e127", "-99999999999999999999999999999999999999e100"] {
      let number = try #require(Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")))
      let single = DecimalSum()
      single.add(number)
      #expect(single.value == .decimal(number), "\(text)")
    }
  }

  @Test func `a power of ten beyond the greatest exponent becomes digits`() throws {
    for (digits, zeros, text) in [("-1", 128, "-10e127"), ("1", 130, "1000e127"), ("12", 128, "120e127")] {
      #expect(sum([digits + String(repeating: "0", count: zeros)]) == (try decimal(text)))
    }
  }

  @Test func `a sum of digits closer to zero than a decimal is the nearest double`() {
    func fraction(_ zeros: Int) -> String { "0." + String(repeating: "0", count: zeros) + "1" }
    // The sum has 135 places; a digit after them is lost, and the sum is no exact decimal.
    #expect(sum([fraction(134)]) == .double(1e-135) && sum([fraction(128)]) == .double(1e-129))
    #expect(sum([fraction(127)]) == .decimal(Decimal(sign: .plus, exponent: -128, significand: 1)))
    #expect(sum([fraction(135), "2"]) == .double(2))
  }

  @Test func `a sum with more digits than a decimal holds is the nearest double`() {
    let beyond = sum(["12345678901234567890123456789012345678", "0.5"])
    #expect(beyond == Double("12345678901234567890123456789012345678").map(AttributeValue.double))
  }

  @Test(arguments: SeededRandom.seeds)
  func `random decimal sums equal the sums of scaled integers`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<100 {
      var total: Int128 = 0
      var texts: [String] = []
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        let number = Int64.random(in: -(1 << 50)...(1 << 50), using: &random)
        let scale = Int.random(in: 0...6, using: &random)
        var factor: Int128 = 1
        for _ in 0..<(6 - scale) { factor *= 10 }
        total += Int128(number) * factor
        texts.append((Decimal(number) * Decimal(sign: .plus, exponent: -scale, significand: 1)).description)
      }
      let expected = try #require(Decimal(string: "\(total)")) * Decimal(sign: .plus, exponent: -6, significand: 1)
      #expect(sum(texts) == .decimal(expected))
    }
  }
}
