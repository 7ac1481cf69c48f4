import Foundation
import Testing

@testable import CoherenceCore

/// The results of aggregates, from single values and from the results of several stores.
@Suite("Results of aggregates")
struct AccumulatorTests {
  private func result(
    _ function: AggregateFunction, _ storage: StorageType, _ values: [AttributeValue], parts: [AttributeValue] = []
  ) -> AttributeValue {
    var accumulator = Accumulator(function, of: storage)
    for value in values { accumulator.add(value) }
    for part in parts { accumulator.add(part: part) }
    return accumulator.result
  }

  @Test func `without values, a sum and a count are zero, and an extreme is missing`() {
    #expect(result(.count, .string, []) == .int(0) && result(.countDistinct, .string, []) == .int(0))
    #expect(result(.sum, .int16, []) == .int(0) && result(.sum, .float, []) == .double(0))
    #expect(result(.sum, .decimal, []) == .decimal(0))
    #expect(result(.minimum, .int64, []) == .null && result(.maximum, .string, []) == .null)
  }

  @Test func `an aggregate of values is their count, their sum or their extreme`() {
    let numbers: [AttributeValue] = [.int(3), .int(-1), .int(3)]
    #expect(result(.count, .int64, numbers) == .int(3) && result(.countDistinct, .int64, numbers) == .int(2))
    #expect(result(.sum, .int64, numbers) == .int(5))
    #expect(result(.minimum, .int64, numbers) == .int(-1) && result(.maximum, .int64, numbers) == .int(3))
    #expect(result(.sum, .double, [.double(0.5), .int(2)]) == .double(2.5))
    #expect(result(.sum, .decimal, [.decimal(1), .decimal(2)]) == .decimal(3))
  }

  @Test func `results of several stores are added`() {
    #expect(result(.count, .int64, [.int(9)], parts: [.int(4), .int(5)]) == .int(10))
    #expect(result(.sum, .int64, [.int(9)], parts: [.int(4), .null]) == .int(13))
    #expect(result(.sum, .double, [.double(1)], parts: [.double(2)]) == .double(3))
    #expect(result(.sum, .decimal, [], parts: [.decimal(2), .null, .decimal(3)]) == .decimal(5))
    #expect(result(.minimum, .int64, [], parts: [.null, .int(4), .int(2)]) == .int(2))
    #expect(result(.maximum, .int64, [.int(3)], parts: [.int(4), .null]) == .int(4))
  }

  @Test func `a missing sum of floating-point numbers stays missing`() {
    #expect(result(.sum, .double, [.double(1)], parts: [.null]) == .null)
    #expect(result(.sum, .double, [], parts: [.null, .double(1)]) == .null)
    #expect(result(.sum, .double, [.double(.infinity), .double(-.infinity)]) == .null)
    #expect(result(.sum, .double, [.double(.infinity), .double(1)]) == .double(.infinity))
  }

  @Test func `a sum out of the range of its type is a double, also with a rounded sum of another store`() {
    #expect(result(.sum, .int64, [.int(.max), .int(1)]) == .double(0x1p63))
    #expect(result(.sum, .int64, [.int(.max), .int(1), .int(-1)]) == .int(.max))
    #expect(result(.sum, .int64, [.int(8)], parts: [.double(0x1p70)]) == .double(0x1p70 + 8))
    #expect(result(.sum, .decimal, [.decimal(0.5)], parts: [.double(1e40), .int(1)]) == .double(1e40 + 1.5))
  }

  @Test func `a rounded sum and the decimal that cancels it out add up to zero`() throws {
    let large = try #require(Decimal(string: "1e60"))
    #expect(result(.sum, .decimal, [.decimal(-large)], parts: [.double(1e60)]) == .double(0))
  }

  @Test func `an average divides the sum, and is missing without values`() {
    #expect(AttributeValue.average(sum: .int(7), count: .int(2)) == .double(3.5))
    #expect(AttributeValue.average(sum: .double(7), count: .int(1)) == .double(7))
    #expect(AttributeValue.average(sum: .decimal(7), count: .int(2)) == .decimal(3.5))
    #expect(AttributeValue.average(sum: .int(7), count: .int(0)) == .null)
    #expect(AttributeValue.average(sum: .int(0), count: .null) == .null)
    #expect(AttributeValue.average(sum: .null, count: .int(2)) == .null)
  }

  @Test func `the nearest double of a value exists for numbers`() {
    #expect(AttributeValue.int(3).nearestDouble == 3 && AttributeValue.double(0.5).nearestDouble == 0.5)
    #expect(AttributeValue.decimal(0.5).nearestDouble == 0.5)
    // The double that `NSDecimalNumber` makes of this number is not the nearest.
    #expect(Decimal(string: "1e60").map(AttributeValue.decimal)?.nearestDouble == 1e60)
    #expect(AttributeValue.null.nearestDouble == nil && AttributeValue.string("1").nearestDouble == nil)
  }

  @Test func `sums and averages need numbers, and extremes values with an order`() {
    #expect(
      AggregateFunction.sum.result(for: .int16) == .int64 && AggregateFunction.average.result(for: .int32) == .double)
    #expect(
      AggregateFunction.sum.result(for: .float) == .double
        && AggregateFunction.average.result(for: .decimal) == .decimal)
    #expect(AggregateFunction.sum.result(for: .string) == nil && AggregateFunction.average.result(for: .date) == nil)
    #expect(AggregateFunction.minimum.result(for: .string) == .string)
    #expect(AggregateFunction.maximum.result(for: .reference) == nil)
    #expect(AggregateFunction.count.result(for: .reference) == .int64)
    for function in AggregateFunction.allCases {
      #expect(AggregateFunction(pathOperator: function.pathOperator) == function)
      #expect(AggregateFunction(pathOperator: String(function.pathOperator.dropFirst())) == nil)
    }
    #expect(AggregateFunction(pathOperator: "@none") == nil && AggregateFunction(pathOperator: "") == nil)
  }
}
