import CoherenceCore
import Foundation
import Testing

/// Conversions between Swift values and stored values, and the checks of attribute types, at their limits.
@Suite struct AttributeConversionTests {
  private enum Mood: String, CaseIterable, AttributeConvertible { case calm, wild }

  @Test func `a duration is rounded to the nearest nanosecond, up to 292 years`() {
    let half = Duration(secondsComponent: 0, attosecondsComponent: 500_000_000)
    let less = Duration(secondsComponent: 0, attosecondsComponent: 499_999_999)
    #expect(half.attributeValue == .int(1) && less.attributeValue == .int(0))
    #expect((Duration.zero - half).attributeValue == .int(-1) && (Duration.zero - less).attributeValue == .int(0))
    #expect(Duration.seconds(-2).attributeValue == .int(-2_000_000_000))
    for number in [Int64.max, .min] {
      #expect(Duration.nanoseconds(number).attributeValue == .int(number))
      #expect(Duration(attributeValue: .int(number)) == .nanoseconds(number))
    }
    for beyond in [Duration.nanoseconds(Int64.max) + .nanoseconds(1), .nanoseconds(Int64.min) - .nanoseconds(1)] {
      guard case .double(let number) = beyond.attributeValue else {
        Issue.record("\(beyond) has the value \(beyond.attributeValue).")
        continue
      }
      #expect(number.isNaN)
    }
    #expect(Duration(attributeValue: .double(1)) == nil)
  }

  @Test func `an optional value is missing, and a refused value is not`() {
    let missing = Mood?(attributeValue: .null)
    #expect(missing == .some(nil))
    let calm = Mood?(attributeValue: .string("calm"))
    #expect(calm == .some(.calm))
    let unknown = Mood?(attributeValue: .string("furious"))
    #expect(unknown == nil)
    #expect(Mood(attributeValue: .null) == nil && Mood(attributeValue: .int(1)) == nil)
    #expect(Mood?.none.attributeValue == .null && Mood?.some(.wild).attributeValue == .string("wild"))
    #expect(Mood.attributeDefault == .calm && Mood?.attributeDefault == nil)
    #expect(Mood?.attributeType == Mood.attributeType)
  }

  @Test func `the default of each type is its zero or its empty value`() {
    #expect(Int.attributeDefault == 0 && Int64.attributeDefault == 0)
    #expect(Int32.attributeDefault == 0 && Int16.attributeDefault == 0)
    #expect(Double.attributeDefault == 0 && Float.attributeDefault == 0)
    #expect(Decimal.attributeDefault == 0 && Duration.attributeDefault == .zero)
    #expect(!Bool.attributeDefault && String.attributeDefault.isEmpty && Data.attributeDefault.isEmpty)
    #expect(Date.attributeDefault.timeIntervalSince1970 == 0 && Timestamp.attributeDefault.microseconds == 0)
    #expect(UUID.attributeDefault.uuidString == "00000000-0000-0000-0000-000000000000")
    #expect(URL.attributeDefault.absoluteString == "about:blank")
  }

  private static let kept: [(AttributeType, AttributeValue, AttributeValue)] = [
    (.double, .int(1 << 53), .double(0x1p53)),
    (.double, .int(-(1 << 53)), .double(-0x1p53)), (.double, .double(-.infinity), .double(-.infinity)),
    (.float, .int(1 << 24), .double(0x1p24)), (.float, .double(0.1), .double(Double(Float(0.1)))),
    (.float, .double(.infinity), .double(.infinity)), (.decimal, .int(.min), .decimal(Decimal(Int64.min))),
    (.int16, .int(-32_768), .int(-32_768)), (.int16, .int(32_767), .int(32_767)),
    (.int32, .int(-2_147_483_648), .int(-2_147_483_648)), (.int32, .int(2_147_483_647), .int(2_147_483_647)),
    (.int64, .int(.min), .int(.min)), (.codable, .string("{}"), .string("{}")),
    (.transformable("t"), .data(Data([1])), .data(Data([1]))), (.url, .string("a b"), .string("a%20b")),
    (.url, .string("https://example.org/?q=1&r=~"), .string("https://example.org/?q=1&r=~")),
    (.enumeration(raw: .string, cases: nil), .string("any"), .string("any")), (.string, .null, .null),
  ]

  @Test(arguments: kept)
  func `a value that a type keeps exactly is checked into its stored form`(
    type: AttributeType, value: AttributeValue, stored: AttributeValue
  ) throws {
    #expect(try type.checked(value) == stored)
    #expect(try type.checked(stored) == stored)
  }

  private static let refused: [(AttributeType, AttributeValue, ErrorCode)] = [
    (.double, .int(1 << 53 + 1), .wrongType), (.double, .int(.max), .wrongType),
    (.float, .int(1 << 24 + 1), .wrongType), (.float, .double(1e39), .invalidValue),
    (.float, .double(.nan), .invalidValue),
    (.int16, .int(-32_769), .invalidValue), (.int16, .int(32_768), .invalidValue),
    (.int32, .int(-2_147_483_649), .invalidValue), (.int32, .int(2_147_483_648), .invalidValue),
    (.int64, .double(.nan), .invalidValue), (.int64, .double(1), .wrongType), (.date, .double(.nan), .invalidValue),
    (.date, .double(1), .wrongType), (.decimal, .decimal(.nan), .invalidValue), (.decimal, .double(1), .wrongType),
    (.string, .string("a\0"), .invalidValue), (.codable, .string("\0"), .invalidValue),
    (.url, .string("a\0"), .invalidValue), (.weakReference(to: nil), .string("nothing"), .invalidValue),
    (.enumeration(raw: .string, cases: [.string("a")]), .string("b"), .invalidValue),
    (.enumeration(raw: .int16, cases: nil), .int(40_000), .invalidValue), (.bool, .int(1), .wrongType),
    (.data, .string(""), .wrongType), (.transformable("t"), .string(""), .wrongType), (.uuid, .string(""), .wrongType),
  ]

  @Test(arguments: refused)
  func `a value that a type does not keep is refused, and the error does not contain it`(
    type: AttributeType, value: AttributeValue, code: ErrorCode
  ) {
    let error = #expect(throws: CoherenceError.self) { try type.checked(value) }
    #expect(error?.code == code)
    #expect(error?.message.contains("nothing") == false && error?.message.contains("40000") == false)
  }
}
