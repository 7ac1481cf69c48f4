import CoherenceCore
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct ValueTests {
  private static let values: [(String, AttributeType, [AttributeValue])] = [
    ("int16", .int16, [.int(-32768), .int(0), .int(32767)]),
    ("int32", .int32, [.int(-2_147_483_648), .int(2_147_483_647)]),
    ("int64", .int64, [.int(.min), .int(-1), .int(9_007_199_254_740_993), .int(.max)]),
    ("bool", .bool, [.bool(false), .bool(true)]),
    ("float", .float, [.double(-Double(Float.greatestFiniteMagnitude)), .double(-0.0), .double(Double(Float(0.1)))]),
    (
      "double", .double,
      [
        .double(-.infinity), .double(-.greatestFiniteMagnitude), .double(-0.0), .double(.leastNonzeroMagnitude),
        .double(0.1), .double(5), .double(.infinity),
      ]
    ),
    (
      "decimal", .decimal,
      [
        "-99999999999999999999999999999999999999", "-10.5", "-9", "0", "1e-128", "0.1", "9", "10",
        "99999999999999999999999999999999999999", "1e60", "3e127",
      ].map { .decimal(Decimal(string: $0)!) }
    ),
    ("string", .string, ["", " ", "A", "a", "a\u{308}", "z", "\u{e4}", "\u{ffff}", "🦊"].map { .string($0) }),
    ("data", .data, [.data(Data()), .data(Data([0])), .data(Data([0, 1])), .data(Data([255]))]),
    (
      "date", .date,
      [-210_866_803_200_000_000, -1, 0, 1, 1_700_000_000_123_456, 9_200_000_000_000_000_000].map {
        .date(Timestamp(microseconds: $0))
      }
    ),
    (
      "uuid", .uuid,
      [
        "00000000-0000-0000-0000-000000000000", "12345678-9ABC-DEF0-1234-56789ABCDEF0",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
      ].map { .uuid(UUID(uuidString: $0)!) }
    ),
    ("url", .url, [.string("https://example.com/?q=%20"), .string("x:")]),
  ]

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: [Entity("Value") { for (name, type, _) in values { Attribute(name, type, optional: true) } }])
  }

  private let schema: TemporarySchema
  private let store: any PersistentStore

  init() throws {
    schema = try TemporarySchema()
    store = try schema.open(Self.model())
  }

  @Test(arguments: values.indices) func `stored values are read unchanged, sorted, and found by value`(_ index: Int)
    throws
  {
    let (name, _, values) = Self.values[index]
    let rows = try values.map { try store.insert("Value", [name: $0]) }
    for (row, value) in zip(rows, values) {
      let found = try #require(try store.current(row))
      #expect(found[name] == value)
      if case .double(let number) = value, case .double(let other) = found[name] {
        #expect(number.bitPattern == other.bitPattern)
      }
      #expect(try store.fetch("Value", where: .path(name, .equal, value)).map(\.id) == [row.id])
      let path = FetchExpression.path(PropertyPath(name))
      #expect(try store.fetch("Value", where: .membership(path, in: [value, .null])).map(\.id) == [row.id])
    }
    #expect(try store.fetch("Value", by: [SortKey(name)]).map(\.id) == rows.map(\.id))
    #expect(try store.fetch("Value", by: [SortKey(name, .reverse)]).map(\.id) == rows.map(\.id).reversed())
  }

  @Test func `many stored rows are read unchanged`() throws {
    let rows = try (0..<1000).map { number in
      var values: [String: AttributeValue] = [:]
      for (name, _, samples) in Self.values where number % 7 != 0 { values[name] = samples[number % samples.count] }
      return try store.row("Value", values)
    }
    try store.save(.insert(rows[0].entity, rows))
    let found = try store.fetch("Value")
    #expect(found.map(\.values) == rows.map(\.values))
    #expect(found.map(\.id) == rows.map(\.id))
    let some = try store.reading { try $0.rows(rows.map(\.key), of: rows[0].entity) }
    #expect(some.count == 1000)
  }

  @Test func `a date before the server's range is refused in a save and compares correctly`() throws {
    let early = AttributeValue.date(Timestamp(microseconds: -210_866_803_200_000_001))
    let row = try store.row("Value", ["date": early])
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .invalidValue)
    let kept = try store.insert("Value", ["date": .date(Timestamp(microseconds: -210_866_803_200_000_000))])
    #expect(try store.fetch("Value", where: .path("date", .greater, early)).map(\.id) == [kept.id])
    #expect(try store.fetch("Value", where: .path("date", .equal, early)).isEmpty)
  }

  @Test func `text with a zero is refused without the text`() throws {
    let row = try store.row("Value", ["string": .string("canary\0")])
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .invalidValue)
    #expect(error.map { "\($0) \($0.underlying.map { "\($0)" } ?? "")".contains("canary") } == false)
  }
}
