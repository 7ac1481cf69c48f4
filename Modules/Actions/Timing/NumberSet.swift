/// A set of numbers from 0 to 63.
struct NumberSet: Hashable, Sendable {
  private var bits: UInt64 = 0

  mutating func insert(_ number: Int) { bits |= 1 << UInt64(number) }

  func contains(_ number: Int) -> Bool { first(from: number) == number }

  /// Returns the smallest number of the set from the given number on.
  func first(from number: Int) -> Int? {
    guard number < 64 else { return nil }
    let candidates = bits & (UInt64.max << UInt64(max(0, number)))
    return candidates == 0 ? nil : candidates.trailingZeroBitCount
  }

  /// The numbers in ascending order.
  var numbers: [Int] { (0..<64).filter(contains) }
}
