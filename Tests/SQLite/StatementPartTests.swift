import CoherenceCore
@testable import CoherenceSQL
@testable import CoherenceSQLite
import Foundation
import Testing

/// The parts of statements and schemas, without a file.
@Suite struct StatementPartTests {
  private let dialect = SQLiteDialect()

  // MARK: Fragments

  @Test func `a list counts as one binding or as its values`() {
    let fragment: SQLFragment = "\(name: "a") = \(text: "b") AND \(name: "c") \(keys: [1, 2, 3])"
    #expect(fragment.bindingCount(bindsArrays: true) == 2)
    #expect(fragment.bindingCount(bindsArrays: false) == 4)
    #expect(fragment.valueCount == 1)
  }

  @Test(arguments: [(1, 0), (32, 0), (33, 1), (1_024, 1), (1_025, 2)])
  func `a long condition is nested in groups of thirty-two parts`(count: Int, levels: Int) {
    #expect([SQLFragment].groupLevels(of: count) == levels)
    let parts = Array(repeating: "x" as SQLFragment, count: count)
    let text = parts.joinedInGroups(by: " OR ").text(in: dialect)
    #expect(text.prefix { $0 == "(" }.count == levels + 1)
    #expect(text.components(separatedBy: "x").count == count + 1)
    #expect(text.components(separatedBy: " OR ").count == count)
  }

  @Test func `numbers of one kind and equal types are compared exactly`() {
    let pairs: [(StorageType, StorageType, Bool)] = [
      (.int16, .int64, true), (.int32, .int16, true), (.float, .double, true), (.string, .string, true),
      (.decimal, .decimal, true), (.int64, .double, false), (.float, .int32, false), (.int64, .decimal, false),
      (.string, .data, false),
    ]
    for (left, right, isExact) in pairs { #expect(dialect.comparesExactly(left, right) == isExact, "\(left) \(right)") }
  }

  @Test func `a default is a constant of a column unless SQLite reads another value`() {
    func text(_ value: AttributeValue, _ storage: StorageType) -> String? {
      dialect.constant(value, as: storage)?.text(in: dialect)
    }
    #expect(text(.int(.min), .int64) == nil && text(.int(.min + 1), .int64) == "-9223372036854775807")
    #expect(text(.double(-0.0), .double) == nil && text(.double(0), .double) == "0.0")
    #expect(text(.double(-1), .double) == "-1.0" && text(.double(.infinity), .double) == nil)
    #expect(text(.date(Timestamp(microseconds: .min)), .date) == nil)
    #expect(text(.date(Timestamp(microseconds: 7)), .date) == "7")
    #expect(text(.string("a'b"), .string) == "'a''b'" && text(.data(Data([0x0F, 0xA0])), .data) == "X'0FA0'")
    #expect(text(.bool(true), .bool) == "1" && text(.bool(false), .bool) == "0" && text(.null, .int64) == nil)
  }

  @Test func `a pattern has a bound, and none for characters that SQLite takes for each other`() {
    func fits(_ pattern: String) -> String? {
      dialect.fits("x", SQLTextPattern(pattern))?.rendered(by: dialect).bindings.first.map { binding in
        if case .value(.string(let text), _) = binding { text } else { "" }
      }
    }
    #expect(fits("a*b?") == "a*b?" && fits(#"\*[\?\"#) == #"[*][[][?]\"#)
    #expect(fits("\u{FFFC}") == "\u{FFFC}" && fits("\u{FFFD}") == nil && fits("a\u{FFFF}") == nil)
    let longest = String(repeating: "x", count: 49_999)
    #expect(fits(longest) == longest && fits(longest + "x") == nil)
  }

  // MARK: Names

  @Test func `a taken or reserved name gets the digest of its key`() {
    var names = SQLNames(dialect: dialect)
    let first = names.allocate(["Track"], key: "k")
    let other = names.allocate(["track", "track$Album"], key: "k")
    let third = names.allocate(["TRACK"], key: "k")
    let fourth = names.allocate(["Track"], key: "k")
    let reserved = names.allocate(["sqlite_a"], key: "k2225")
    #expect([first, other, third, fourth] == ["Track", "track$Album", "TRACK~ee0c38ea", "Track~8a3d6ab7"])
    #expect(reserved == "_sqlite_a~006da193")
  }

  // MARK: Keys

  private func makeRoot() throws -> EntityDescription {
    try ManagedObjectModel { Entity("Thing") }.entity(named: "Thing")
  }

  @Test func `each reservation of keys is twice as large as the one before, up to a greatest size`() throws {
    let (root, blocks) = (try makeRoot(), KeyBlocks())
    var (sizes, next) = ([Int](), Int64(1))
    for size in [64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096] {
      for count in [1, size - 1] {
        let keys = try blocks.take(count, of: root) { wanted in
          sizes.append(wanted)
          defer { next += Int64(wanted) }
          return next..<next + Int64(wanted)
        }
        #expect(keys.count == count)
      }
    }
    #expect(sizes == [64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096])
  }

  @Test func `keys of adjacent reservations follow each other, and a gap ends the rest of the former one`() throws {
    func second(_ start: Int64) throws -> Range<Int64> {
      let (root, blocks) = (try makeRoot(), KeyBlocks())
      _ = try blocks.take(60, of: root) { 1..<Int64($0) + 1 }
      return try blocks.take(10, of: root) { start..<start + Int64($0) }
    }
    #expect(try second(65) == 61..<71)
    #expect(try second(1_000) == 1_000..<1_010)
  }

  private static let chunks: [(Int, [Int])] = [
    (0, []), (1, [1]), (2, [2]), (3, [4]), (5, [8]), (4_095, [4_096]), (4_096, [4_096]), (4_097, [4_096, 1]),
    (4_099, [4_096, 4]),
  ]

  @Test(arguments: chunks)
  func `keys are read in chunks whose lengths are powers of two`(count: Int, lengths: [Int]) {
    let keys = (0..<Int64(count)).map { $0 * 3 }
    #expect(keys.chunks.map(\.count) == lengths)
    #expect(Array(keys.chunks.joined().prefix(count)) == keys)
    #expect(Set(keys.chunks.joined()) == Set(keys))
  }

  // MARK: Conversions

  @Test func `a conversion of numbers names the values that do not fit`() {
    func misfit(_ source: StorageType, _ target: StorageType) -> String? {
      NumberConversion(from: source, to: target)?.misfit("x", dialect)?.text(in: dialect)
    }
    #expect(misfit(.int64, .int16) == "x NOT BETWEEN -32768 AND 32767")
    #expect(misfit(.int64, .int32) == "x NOT BETWEEN -2147483648 AND 2147483647")
    #expect(misfit(.int64, .double) == "x NOT BETWEEN -9007199254740992 AND 9007199254740992")
    #expect(misfit(.int32, .float) == "x NOT BETWEEN -16777216 AND 16777216")
    #expect(misfit(.int32, .bool) == "x NOT IN (0, 1)")
    #expect(
      misfit(.double, .int32)?.hasPrefix("CASE WHEN x NOT BETWEEN -2147483648 AND 2147483647 THEN 1 ELSE") == true)
    #expect(misfit(.float, .int64)?.hasPrefix("CASE WHEN x NOT BETWEEN -16777216 AND 16777216 THEN 1 ELSE") == true)
    for (source, target) in [
      (.int16, .int64), (.int32, .double), (.int16, .float), (.bool, .int16), (.int64, .decimal),
    ]
      as [(StorageType, StorageType)]
    {
      #expect(misfit(source, target) == nil && NumberConversion(from: source, to: target)?.isLossless == true)
    }
  }

  @Test func `types without a conversion of numbers have none, and columns of one type need none`() {
    for (source, target) in [
      (.int64, .int64), (.decimal, .int64), (.double, .float), (.string, .int64), (.date, .int64),
    ]
      as [(StorageType, StorageType)]
    {
      #expect(NumberConversion(from: source, to: target) == nil, "\(source) \(target)")
    }
    func isIdentity(_ source: StorageType, _ target: StorageType) -> Bool? {
      NumberConversion(from: source, to: target)?.isIdentity(in: dialect)
    }
    #expect(isIdentity(.int16, .int64) == true && isIdentity(.float, .double) == true)
    #expect(isIdentity(.int64, .int16) == false && isIdentity(.int16, .decimal) == false)
  }

  @Test func `a stored name of a type has the storage of its values`() {
    for (name, storage) in [
      ("url", .string), ("codable", .string), ("weakReference", .string), ("transformable(x)", .data),
      ("enumeration(int16)", .int16), ("int64", .int64), ("reference", nil), ("enumeration(reference)", nil),
      ("x", nil),
    ] as [(String, StorageType?)] {
      #expect(StorageType(ofTypeNamed: name) == storage, "\(name)")
    }
  }

  // MARK: Descriptions of stores

  private let metadata = StoreMetadata(identifier: StoreIdentifier("s"), type: "SQLite", versionHashes: ["A": "1"])

  private func entries(format: String?) throws -> [String: String] {
    func json(_ value: some Encodable) throws -> String {
      String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
    var entries = ["metadata": try json(metadata), "schema": try json(StoredSchema.empty)]
    entries["format"] = format
    return entries
  }

  @Test(arguments: [nil, "1", "2", "3", "4"] as [String?])
  func `a description of an earlier format is read`(format: String?) throws {
    let state = try StoreState(entries: entries(format: format), location: "'x'")
    #expect(state == StoreState(metadata: metadata, schema: .empty))
  }

  @Test(arguments: ["", "0", "5"])
  func `a description of a later format is refused`(format: String) throws {
    let error = try #require(throws: CoherenceError.self) {
      try StoreState(entries: entries(format: format), location: "'x'")
    }
    #expect(error.code == .incompatibleModel && error.message.hasPrefix("'x' was made by a later version"))
  }

  @Test(arguments: ["metadata", "schema"]) func `a description without one of its parts is damaged`(part: String) throws
  {
    var entries = try entries(format: "3")
    entries[part] = nil
    let error = try #require(throws: CoherenceError.self) { try StoreState(entries: entries, location: "'x'") }
    #expect(error.code == .storeCorrupt && error.message.contains("'x'"))
  }

  // MARK: Sentences

  @Test func `a list of more than twelve names has the number of the others`() {
    let names = (1...14).map { "n\($0)" }
    #expect(SchemaChange.list(Array(names.prefix(12))) == names.prefix(12).joined(separator: ", "))
    #expect(SchemaChange.list(names) == names.prefix(12).joined(separator: ", ") + " and 2 more")
  }

  @Test func `a loss names the unit and the parts that it destroys`() {
    func loss(_ drops: SchemaDrops, _ number: Int) -> String {
      SchemaMismatch.loss("Sentence.", table: "t", column: nil, count: "1", drops: drops).lostParts(number)
    }
    let columns = ["b", "a"].map { SchemaDrops.Column(root: "R", key: SQLColumn.Key(entity: "R", slot: $0)) }
    #expect(loss(SchemaDrops(columns: Set(columns)), 1) == "1 value of 'R.a', 'R.b'")
    #expect(loss(SchemaDrops(entities: ["R": ["C", "B"]]), 2) == "2 records of 'B', 'C'")
    #expect(loss(SchemaDrops(linkTables: ["l"]), 0) == "0 links of 'l'")
    let mismatch = SchemaMismatch.loss("Sentence.", table: "t", column: "c", count: "1", drops: SchemaDrops())
    #expect(mismatch.loss(of: 3).reason == "Sentence")
  }
}
