import CoherenceCore
import Foundation
import Testing

@Suite("The order of values")
struct ValueOrderTests {
  /// Values in ascending order. The values of one line are equal.
  private static let ascending: [[AttributeValue]] = [
    [.null],
    [.bool(false)], [.bool(true)],
    [.double(-.infinity)], [.double(-0x1p63 * 2)], [.int(.min), .double(-0x1p63)], [.int(.min + 1)],
    [.int(-2), .double(-2)], [.double(-1.5)], [.int(-1), .double(-1)], [.double(-0.5)],
    [.int(0), .double(0)], [.double(0.5)], [.int(1), .double(1)], [.double(1.5)],
    [.int(2), .double(2)],
    [.int(1 << 53), .double(0x1p53)], [.int(1 << 53 + 1)], [.int(1 << 53 + 2), .double(0x1p53 + 2)],
    [.int(.max)], [.double(0x1p63)], [.double(.infinity)],
    [.string("")], [.string("A")], [.string("AB")], [.string("a")], [.string("\u{E9}")],
    [.data(Data())], [.data(Data([0]))], [.data(Data([0, 255]))], [.data(Data([1]))],
    [.date(Timestamp(microseconds: -1))], [.date(Timestamp(microseconds: 0))], [.date(Timestamp(microseconds: 1))],
    [.uuid(uuid(0, 1))], [.uuid(uuid(0, 255))], [.uuid(uuid(1, 0))],
  ]

  /// Decimals among integers and doubles.
  private static let ascendingDecimals: [[AttributeValue]] = [
    [.int(-2), .double(-2), .decimal(-2)], [.double(-1.5), .decimal(-1.5)], [.int(-1), .decimal(-1)],
    [.int(0), .double(0), .decimal(0)], [.double(0.5), .decimal(0.5)], [.int(1), .double(1), .decimal(1)],
    [.decimal(1.25)], [.double(1.5), .decimal(1.5)], [.int(2), .double(2), .decimal(2)],
  ]

  private static func uuid(_ first: UInt8, _ last: UInt8) -> UUID {
    UUID(uuid: (first, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last))
  }

  @Test func `not-a-number comes after all numbers, from either side`() {
    let none = AttributeValue.double(.nan)
    for number in [.int(1), .int(.max), .double(1), .double(.infinity), .decimal(1)] as [AttributeValue] {
      #expect(number.order(to: none) < 0 && none.order(to: number) > 0)
    }
    #expect(none.order(to: none) == 0 && none.order(to: .string("")) < 0)
  }

  @Test(arguments: [ascending, ascendingDecimals])
  func `the order of two values does not depend on the order of comparison`(ascending: [[AttributeValue]]) {
    let values = ascending.enumerated().flatMap { rank, values in values.map { (rank, $0) } }
    for (rank, value) in values {
      for (otherRank, other) in values {
        let order = value.order(to: other)
        #expect(order.signum() == (rank - otherRank).signum(), "\(value) and \(other)")
      }
    }
  }
}
