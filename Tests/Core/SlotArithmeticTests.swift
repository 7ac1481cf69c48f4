import CoherenceCore
import Testing

/// The calculations that stores execute for batch updates, compared with integers of 128 bits.
@Suite struct SlotArithmeticTests {
  private static let targets: [ClosedRange<Int64>] = [
    Int64(Int16.min)...Int64(Int16.max), Int64(Int32.min)...Int64(Int32.max), .min ... .max,
  ]
  private static let numbers: [Int64] = [
    .min, .min + 1, -4_000_000_000, -32_769, -32_768, -1_000, -7, -2, -1, 0, 1, 2, 7, 1_000, 32_767, 32_768,
    4_000_000_000, .max - 1, .max,
  ]

  @Test(arguments: targets)
  func `a result is exact, or refused if it is out of the range of the attribute`(target: ClosedRange<Int64>) {
    for operand in Self.numbers {
      let sum = SlotArithmetic(source: 0, operation: .add, operand: operand, target: target)
      let product = SlotArithmetic(source: 0, operation: .multiply, operand: operand, target: target)
      let bounds = [sum.range.lowerBound, sum.range.upperBound, product.range.lowerBound, product.range.upperBound]
      let neighbours = bounds.flatMap { [$0 == .min ? $0 : $0 - 1, $0, $0 == .max ? $0 : $0 + 1] }
      for number in Self.numbers + neighbours {
        let value = AttributeValue.int(number)
        #expect(sum.result(for: value) == expected(Int128(number) + Int128(operand), target), "\(number) + \(operand)")
        #expect(
          product.result(for: value) == expected(Int128(number) * Int128(operand), target), "\(number) * \(operand)")
      }
    }
  }

  private func expected(_ result: Int128, _ target: ClosedRange<Int64>) -> AttributeValue? {
    guard let number = Int64(exactly: result), target.contains(number) else { return nil }
    return .int(number)
  }

  @Test func `the result for a missing value is missing`() {
    let sum = SlotArithmetic(source: 0, operation: .add, operand: 1, target: 0...1)
    #expect(sum.result(for: .null) == .null)
  }
}
