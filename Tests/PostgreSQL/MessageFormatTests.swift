import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Testing

/// The formats of values, rows and prepared statements. The tests need no server.
@Suite struct MessageFormatTests {
  // MARK: Copied rows

  /// A message in the memory that a row releases.
  private func message(_ bytes: [UInt8]) throws -> UnsafeMutablePointer<CChar> {
    let memory = try #require(malloc(max(bytes.count, 1)))
    bytes.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count) }
    // Safety of `assumingMemoryBound`: the memory has bytes alone.
    return memory.assumingMemoryBound(to: CChar.self)
  }

  private func decode(_ bytes: [UInt8], into row: PostgreSQLCopiedRow, from start: Int = 0) throws -> Bool {
    try row.decode(message(bytes), count: bytes.count, from: start)
  }

  private func fields(_ row: PostgreSQLCopiedRow, _ count: Int) -> [[UInt8]?] {
    (0..<count).map { row.bytes($0).map { Array($0) } }
  }

  @Test func `a copied row has its fields, missing and empty ones too`() throws {
    let row = PostgreSQLCopiedRow()
    #expect(try decode([0, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 2, 7, 8, 0, 0, 0, 0], into: row))
    #expect(fields(row, 4) == [nil, [7, 8], [], nil])
    #expect(try decode([1, 2, 3, 0, 1, 0, 0, 0, 1, 9], into: row, from: 3))
    #expect(fields(row, 2) == [[9], nil])
  }

  @Test func `the end of copied rows and a header without a row are no rows`() throws {
    let row = PostgreSQLCopiedRow()
    #expect(try !decode([0xFF, 0xFF], into: row))
    #expect(try !decode([0], into: row))
    #expect(try !decode([1, 2, 3], into: row, from: 3))
    #expect(try decode([0, 0], into: row))
  }

  @Test(
    arguments: [
      [0, 1], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 2, 7], [0, 2, 0, 0, 0, 1, 7], [0, 1, 0x7F, 0xFF, 0xFF, 0xFF],
    ] as [[UInt8]])
  func `a copied row that ends early is a lost connection`(bytes: [UInt8]) throws {
    let row = PostgreSQLCopiedRow()
    let error = try #require(throws: CoherenceError.self) { try decode(bytes, into: row) }
    #expect(error.code == .connectionLost)
  }

  // MARK: Numbers and dates

  private func numeric(_ fields: [UInt16], cut: Int = 0) -> (decimal: Decimal?, integer: Int128?, sum: AttributeValue?)
  {
    let buffer = ByteBuffer()
    for field in fields { buffer.append(field) }
    return withExtendedLifetime(buffer) {
      let (bytes, count) = (UnsafeRawPointer(buffer.base), buffer.count - cut)
      return (
        PostgreSQLBinary.decimal(bytes, count: count), PostgreSQLBinary.integer(bytes, count: count),
        PostgreSQLBinary.decimalSum(bytes, count: count)
      )
    }
  }

  @Test func `a number with another length than its digits is not read`() {
    let whole = numeric([2, 1, 0, 0, 1, 2])
    #expect(whole.decimal == 10_002 && whole.integer == 10_002 && whole.sum == .decimal(10_002))
    for cut in [1, 2, 5] {
      let number = numeric([2, 1, 0, 0, 1, 2], cut: cut)
      #expect(number.decimal == nil && number.integer == nil && number.sum == nil)
    }
    let negative = numeric([0xFFFF, 1, 0, 0])
    #expect(negative.decimal == nil && negative.integer == nil && negative.sum == nil)
  }

  @Test func `a number of an unknown sign is not read, and zero has no digits`() {
    let unknown = numeric([1, 0, 0x8000, 0, 1])
    #expect(unknown.decimal == nil && unknown.integer == nil && unknown.sum == nil)
    let zero = numeric([0, 0, 0, 0])
    #expect(zero.decimal == 0 && zero.integer == 0 && zero.sum == .decimal(0))
  }

  @Test func `each group of a sum beyond all decimals has four digits`() {
    #expect(numeric([2, 43, 0, 0, 1, 2]).sum == .double(10_002e168))
  }

  @Test func `the first date of the server is stored, and no earlier one`() {
    let first = PostgreSQLBinary.firstTimestamp + PostgreSQLBinary.epoch
    #expect(PostgreSQLBinary.isStorable(Timestamp(microseconds: first)))
    #expect(!PostgreSQLBinary.isStorable(Timestamp(microseconds: first - 1)))
    #expect(!PostgreSQLBinary.isStorable(Timestamp(microseconds: .min)))
    #expect(PostgreSQLBinary.isStorable(Timestamp(microseconds: .max)))
  }

  @Test func `a date of the server beyond all dates is the last date`() {
    #expect(PostgreSQLBinary.timestamp(.max).microseconds == .max)
    #expect(PostgreSQLBinary.timestamp(0).microseconds == 946_684_800_000_000)
  }

  @Test func `a buffer keeps its bytes when it grows`() {
    let buffer = ByteBuffer(capacity: 1)
    for number in 0..<100 as Range<Int64> { buffer.append(number) }
    buffer.append("text")
    buffer.overwrite(-1, at: 8)
    #expect(buffer.count == 804)
    let bytes = UnsafeRawPointer(buffer.base)
    let numbers = (0..<100).map { (bytes + 8 * $0).bigEndian(Int64.self) }
    #expect(numbers.enumerated().allSatisfy { $0.offset == 1 || $0.element == Int64($0.offset) })
    #expect(numbers[1] == Int64(bitPattern: 0xFFFF_FFFF_0000_0001))
    buffer.removeAll()
    #expect(buffer.count == 0)
  }

  @Test(arguments: ["", "a", "größer", "a text of more than fifteen bytes", String(repeating: "ü", count: 1_000)])
  func `the field of a text has the number of its bytes, and its bytes`(text: String) throws {
    let bytes = Array(text.utf8)
    let buffer = ByteBuffer(capacity: 1)
    try buffer.appendField(.string(text), as: .string)
    #expect(buffer.count == 4 + bytes.count)
    #expect(UnsafeRawPointer(buffer.base).bigEndian(Int32.self) == Int32(bytes.count))
    #expect(Array(UnsafeRawBufferPointer(start: buffer.base + 4, count: bytes.count)) == bytes)
  }

  // MARK: Statements

  @Test func `statements are equal by their text, the types of their values, and their preparation`() {
    let text = PostgreSQLText("SELECT $1", types: [20])
    #expect(text == PostgreSQLText("SELECT $1", types: [20]))
    #expect(text != PostgreSQLText("SELECT $1", types: [23]))
    #expect(text != PostgreSQLText("SELECT $1", types: [20], isPrepared: false))
    #expect(text != PostgreSQLText("SELECT $2", types: [20]))
  }

  @Test(arguments: [(8, true), (9, false)])
  func `a statement with a list of more than eight values is not prepared`(count: Int, isPrepared: Bool) {
    let list = SQLBinding.array(Array(repeating: .int(1), count: count), .int64)
    let statement = SQLStatement(text: "SELECT $1, $2", bindings: [.value(.int(1), .int16), list])
    let text = PostgreSQLText(statement)
    #expect(text.isPrepared == isPrepared)
    #expect(text.types == [21, 1016])
    #expect(!PostgreSQLText(statement, isPrepared: false).isPrepared)
  }

  @Test func `the least used of two hundred prepared statements makes room for another`() {
    var statements = PreparedStatements()
    _ = statements.add(.rollback)
    let texts = (0..<199).map { PostgreSQLText("SELECT \($0)") }
    let names = texts.prefix(198).map { statements.add($0) }
    let early = statements.removeLeastUsed(for: texts[198])
    #expect(early == nil)
    _ = statements.add(texts[198])
    let used = statements.name(of: texts[0])
    #expect(used == names[0])
    let control = statements.removeLeastUsed(for: .commit)
    #expect(control == nil)
    let removed = statements.removeLeastUsed(for: PostgreSQLText("SELECT"))
    #expect(removed == names[1])
    let former = statements.name(of: texts[1])
    #expect(former == nil)
  }

  @Test func `a removed statement is prepared again under another name`() {
    var statements = PreparedStatements()
    let text = PostgreSQLText("SELECT 1")
    let first = statements.add(text)
    statements.remove(text)
    let removed = statements.name(of: text)
    #expect(removed == nil)
    let second = statements.add(text)
    #expect(second != first)
  }

  // MARK: Growth

  @Test func `a table grows by a stage with every thousand inserted rows`() {
    let growth = PostgreSQLGrowth()
    growth.add(999)
    #expect(growth.stage == 0)
    growth.add(1)
    #expect(growth.stage == 1)
    growth.add(0)
    growth.add(2_500)
    #expect(growth.stage == 3)
  }
}
