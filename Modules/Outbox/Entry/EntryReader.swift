import CoherenceCore
import Foundation

/// Reads values in the ``EntryFormat``. Every damage of the data ends in an error, never in a trap or in a large
/// allocation.
struct EntryReader {
  let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int
  /// The names of roots that the data has shown so far; later records refer to them by index.
  private var rootNames: [String] = []

  /// - Throws: ``ErrorCode/storeCorrupt`` for data of a later version, and for data outside of the format. The other
  ///   functions throw the same error.
  init(_ data: EntryBytes) throws(CoherenceError) {
    bytes = data.bytes
    position = data.range.lowerBound
    end = data.range.upperBound
    guard try byte() == EntryFormat.version else { throw Self.unreadable }
  }

  /// - Throws: As ``init(_:)-(EntryBytes)``.
  init(_ data: Data) throws(CoherenceError) { try self.init(EntryBytes(data)) }

  /// Reads the changes of an entry.
  static func payload(_ data: Data) throws(CoherenceError) -> ([EntryFormat.Field], [EntryFormat.Members]) {
    try payload(EntryBytes(data))
  }

  /// Reads the changes of an entry.
  static func payload(_ data: EntryBytes) throws(CoherenceError) -> ([EntryFormat.Field], [EntryFormat.Members]) {
    var reader = try EntryReader(data)
    let fields = try reader.fields()
    let members = try reader.members()
    try reader.finish()
    return (fields, members)
  }

  /// Reads the identifying values of an entry's record.
  static func identity(_ data: Data) throws(CoherenceError) -> [EntryFormat.Field] {
    var reader = try EntryReader(data)
    let fields = try reader.fields()
    try reader.finish()
    return fields
  }

  /// Reads the records that an entry relates to.
  static func references(_ data: Data) throws(CoherenceError) -> [EntryFormat.Reference] {
    var reader = try EntryReader(data)
    var result: [EntryFormat.Reference] = []
    for _ in 0..<(try reader.count()) {
      guard let role = EntryFormat.Role(rawValue: try reader.byte()) else { throw unreadable }
      result.append(EntryFormat.Reference(role: role, record: try reader.record()))
    }
    try reader.finish()
    return result
  }

  static var unreadable: CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "The values of an entry of the outbox cannot be read: a later release wrote the values, or they are damaged. "
        + "Update the program, or drop the entry.")
  }

  /// Whether all bytes were read.
  var isAtEnd: Bool { position == end }

  func finish() throws(CoherenceError) {
    guard isAtEnd else { throw Self.unreadable }
  }

  mutating func fields() throws(CoherenceError) -> [EntryFormat.Field] {
    var result: [EntryFormat.Field] = []
    for _ in 0..<(try count()) {
      let name = try text()
      let flags = try byte()
      let base = flags & EntryFormat.FieldFlag.base == 0 ? nil : try value()
      let value = flags & EntryFormat.FieldFlag.value == 0 ? nil : try value()
      result.append(EntryFormat.Field(name: name, base: base, value: value))
    }
    return result
  }

  mutating func members() throws(CoherenceError) -> [EntryFormat.Members] {
    var result: [EntryFormat.Members] = []
    for _ in 0..<(try count()) {
      let name = try text()
      let flags = try byte()
      let added = try records()
      let removed = try records()
      result.append(
        EntryFormat.Members(
          name: name, added: added, removed: removed, isReordered: flags & EntryFormat.MemberFlag.reordered != 0,
          isOwner: flags & EntryFormat.MemberFlag.owner != 0))
    }
    return result
  }

  private mutating func records() throws(CoherenceError) -> [OutboxRecord] {
    var result: [OutboxRecord] = []
    for _ in 0..<(try count()) { result.append(try record()) }
    return result
  }

  mutating func record() throws(CoherenceError) -> OutboxRecord {
    let index = try count(in: rootNames.count + 1)
    if index == rootNames.count { rootNames.append(try text()) }
    return OutboxRecord(rootName: rootNames[index], key: try signed())
  }

  private mutating func value() throws(CoherenceError) -> OutboxValue {
    guard let tag = EntryFormat.Tag(rawValue: try byte()) else { throw Self.unreadable }
    switch tag {
    case .null: return .value(.null)
    case .false: return .value(.bool(false))
    case .true: return .value(.bool(true))
    case .int: return .value(.int(try signed()))
    case .double:
      let pattern = try slice(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .value(.double(Double(bitPattern: pattern)))
    case .string: return .value(.string(try text()))
    case .data: return .value(.data(Data(try slice(try count()))))
    case .date: return .value(.date(Timestamp(microseconds: try signed())))
    case .uuid: return .value(.uuid(try uuid()))
    case .decimal:
      guard let decimal = Decimal(string: try text()) else { throw Self.unreadable }
      return .value(.decimal(decimal))
    case .record: return .record(try record())
    case .omitted: return .omitted(byteCount: try count(in: .max))
    }
  }

  mutating func uuid() throws(CoherenceError) -> UUID {
    let b = Array(try slice(16))
    return UUID(
      uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]))
  }

  mutating func text() throws(CoherenceError) -> String {
    guard let text = String(validating: try slice(try count()), as: UTF8.self) else { throw Self.unreadable }
    return text
  }

  /// Reads a number of elements. The rest of the data limits the number, because each element takes at least a byte:
  /// damaged data never asks for more memory than its own size.
  mutating func count() throws(CoherenceError) -> Int { try count(in: end - position + 1) }

  /// Reads a number below a limit.
  mutating func count(in limit: Int) throws(CoherenceError) -> Int {
    let number = try unsigned()
    guard number < UInt64(limit) else { throw Self.unreadable }
    return Int(number)
  }

  /// Reads a zigzag-coded number.
  mutating func signed() throws(CoherenceError) -> Int64 {
    let number = try unsigned()
    return Int64(bitPattern: (number >> 1) ^ (0 &- (number & 1)))
  }

  private mutating func unsigned() throws(CoherenceError) -> UInt64 {
    var result: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      let byte = try byte()
      // The tenth byte has the last bit of 64.
      guard shift < 63 || byte <= 1 else { throw Self.unreadable }
      result |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return result }
    }
    throw Self.unreadable
  }

  /// Reads the size of a part, and skips the part.
  ///
  /// - Returns: The range of the part's bytes.
  mutating func part() throws(CoherenceError) -> Range<Int> {
    let count = try slice(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    return try slice(count).indices
  }

  mutating func byte() throws(CoherenceError) -> UInt8 {
    guard position < end else { throw Self.unreadable }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func slice(_ count: Int) throws(CoherenceError) -> ArraySlice<UInt8> {
    guard count <= end - position else { throw Self.unreadable }
    defer { position += count }
    return bytes[position..<(position + count)]
  }
}
