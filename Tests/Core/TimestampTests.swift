import CoherenceCore
import Foundation
import Testing

/// Dates as numbers of microseconds.
@Suite struct TimestampTests {
  private func microseconds(_ seconds: TimeInterval) -> Int64? {
    Timestamp(Date(timeIntervalSince1970: seconds))?.microseconds
  }

  @Test func `a date is rounded to the nearest microsecond`() {
    #expect(microseconds(0) == 0)
    #expect(microseconds(0.000_001_6) == 2)
    #expect(microseconds(0.000_001_4) == 1)
    #expect(microseconds(-0.000_001_6) == -2)
    #expect(microseconds(86_400.25) == 86_400_250_000)
  }

  @Test func `a date further from 1970 than 291,500 years has no number of microseconds`() {
    #expect(microseconds(9.199e12) != nil && microseconds(-9.199e12) != nil)
    #expect(microseconds(9.2e12) == nil && microseconds(-9.2e12) == nil)
    let distant = Date(timeIntervalSince1970: 1e15)
    #expect(distant.roundedToMicroseconds() == distant)
  }

  @Test func `a date between 1729 and 2241 read from a number of microseconds has the same number`() {
    for step: Int64 in 0..<380 {
      for number in [step * 19_876_543_210_123, -step * 19_876_543_210_123] {
        let date = Timestamp(microseconds: number).date
        #expect(Timestamp(date)?.microseconds == number)
        #expect(date.roundedToMicroseconds() == date)
      }
    }
  }

  @Test func `times are ordered by their microseconds`() {
    #expect(Timestamp(microseconds: -1) < Timestamp(microseconds: 0))
    #expect(!(Timestamp(microseconds: 1) < Timestamp(microseconds: 1)))
  }
}
