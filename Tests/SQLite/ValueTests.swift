import CoherenceCore
import CoherenceSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ValueTests {
  private static let values: [(String, AttributeType, [AttributeValue])] = [
    ("int16", .int16, [.int(-32768), .int(0), .int(32767)]),
    ("int32", .int32, [.int(-2_147_483_648), .int(2_147_483_647)]),
    ("int64", .int64, [.int(.min), .int(-1), .int(.max), .int(9_007_199_254_740_993)]),
    ("bool", .bool, [.bool(false), .bool(true)]),
    ("float", .float, [.double(-Double(Float.greatestFiniteMagnitude)), .double(-0.0), .double(Double(Float(0.1)))]),
    (
      "double", .double,
      [
        .double(-.infinity), .double(-.greatestFiniteMagnitude), .double(-0.0), .double(.leastNonzeroMagnitude),
        .double(5), .double(0.1), .double(.infinity),
      ]
    ),
    (
      "decimal", .decimal,
      [
        "-99999999999999999999999999999999999999", "-10.5", "-9", "0", "0.00000000000000000000000000000000000001",
        "0.1", "9", "10", "99999999999999999999999999999999999999", "1e60",
      ].map { .decimal(Decimal(string: $0)!) }
    ),
    (
      "string", .string,
      ["", " ", "A", "a", "a\u{308}", "z", "\u{e4}", "\u{ffff}", "🦊"].map { .string($0) }
    ),
    ("data", .data, [.data(Data()), .data(Data([0])), .data(Data([0, 1])), .data(Data([255]))]),
    (
      "date", .date,
      [Int64.min / 2, -1, 0, 1, 1_700_000_000_123_456].map { .date(Timestamp(microseconds: $0)) }
    ),
    (
      "uuid", .uuid,
      [
        "00000000-0000-0000-0000-000000000000", "12345678-9ABC-DEF0-1234-56789ABCDEF0",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
      ]
      .map { .uuid(UUID(uuidString: $0)!) }
    ),
    ("url", .url, [.string("https://example.com/?q=%20"), .string("x:")]),
  ]

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: [Entity("Value") { for (name, type, _) in values { Attribute(name, type, optional: true) } }])
  }

  @Test(arguments: values.indices) func `stored values are read unchanged`(_ index: Int) throws {
    let place = try TemporaryStore()
    let (name, _, values) = Self.values[index]
    let store = try place.open(Self.model())
    let rows = try values.map { try store.insert("Value", [name: $0]) }
    for (row, value) in zip(rows, values) {
      let found = try #require(try store.current(row))
      #expect(found[name] == value)
      if case .double(let number) = value, case .double(let other) = found[name] {
        #expect(number.bitPattern == other.bitPattern)
      }
      let equal = try store.fetch("Value", where: .path(name, .equal, value))
      #expect(equal.contains { $0.id == row.id })
      for other in values {
        let less = try store.fetch("Value", where: .path(name, .less, other)).contains { $0.id == row.id }
        #expect(less == (value.order(to: other) < 0))
      }
    }
  }

  @Test(arguments: values.indices) func `values are ordered as the framework orders them`(_ index: Int) throws {
    let place = try TemporaryStore()
    let (name, _, values) = Self.values[index]
    let store = try place.open(Self.model())
    for value in (values + [.null]).shuffled() { try store.insert("Value", [name: value]) }
    let expected = ([.null] + values).sorted { $0.order(to: $1) < 0 }
    let ascending = try store.fetch("Value", by: [SortKey(name)]).map { $0[name] }
    #expect(ascending == expected)
    let descending = try store.fetch("Value", by: [SortKey(name, .reverse)]).map { $0[name] }
    #expect(descending == expected.reversed())
  }
}
