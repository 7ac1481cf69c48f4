import CLibPQ
import CoherenceCore
import Foundation

/// The server's binary format of values: numbers in network order, points in time from the year 2000 on.
enum PostgreSQLBinary {
  /// The microseconds from 1970-01-01, the beginning of the framework's timestamps, to 2000-01-01, the beginning of the
  /// server's.
  static let epoch: Int64 = 946_684_800_000_000
  /// The first point in time that the server can store, 4714-11-24 BC, in microseconds from 2000-01-01.
  static let firstTimestamp: Int64 = -211_813_488_000_000_000

  /// Whether the server can store a date.
  static func isStorable(_ date: Timestamp) -> Bool {
    let (value, overflow) = date.microseconds.subtractingReportingOverflow(epoch)
    return !overflow && value >= firstTimestamp
  }

  /// The server's type identifier for the values of a representation.
  static func type(of storage: StorageType) -> Oid {
    switch storage {
    case .int16: 21
    case .int32: 23
    case .int64, .reference: 20
    case .bool: 16
    case .float: 700
    case .double: 701
    case .decimal: 1700
    case .string: 25
    case .data: 17
    case .date: 1184
    case .uuid: 2950
    }
  }

  /// The server's type identifier for arrays of the values of a representation.
  static func arrayType(of storage: StorageType) -> Oid {
    switch storage {
    case .int16: 1005
    case .int32: 1007
    case .int64, .reference: 1016
    case .bool: 1000
    case .float: 1021
    case .double: 1022
    case .decimal: 1231
    case .string: 1009
    case .data: 1001
    case .date: 1185
    case .uuid: 2951
    }
  }

  /// Converts a timestamp of the server to one of the framework. A time after the framework's range, such as the
  /// positive infinity, becomes the last time of the range. The negative infinity becomes a time before all times that
  /// the server can store.
  @inline(__always)
  static func timestamp(_ value: Int64) -> Timestamp {
    let (sum, overflow) = value.addingReportingOverflow(epoch)
    return Timestamp(microseconds: overflow ? Int64.max : sum)
  }
}

// MARK: - Writing

extension ByteBuffer {
  /// Appends a value other than null, without its length.
  ///
  /// - Parameter clampsDates: Whether a date before the server's range is written as negative infinity, which compares
  ///   with every stored date in the same way. For conditions, never for stored values.
  /// - Throws: ``ErrorCode/invalidValue`` for values that the server's type cannot hold.
  func append(_ value: AttributeValue, as storage: StorageType, clampsDates: Bool = false) throws {
    switch (storage, value) {
    case (.int64, .int(let number)), (.reference, .int(let number)): append(number)
    case (.int32, .int(let number)): append(try Self.narrowed(number, to: Int32.self))
    case (.int16, .int(let number)): append(try Self.narrowed(number, to: Int16.self))
    case (.string, .string(let text)): append(text)
    case (.double, .double(let number)): append(number.bitPattern)
    case (.float, .double(let number)): append(Float(number).bitPattern)
    case (.bool, .bool(let flag)): append(flag ? 1 as UInt8 : 0)
    case (.date, .date(let date)): append(try Self.timestamp(date, clamps: clampsDates))
    case (.reference, .reference(let id)): append(id.key)
    case (.uuid, .uuid(let uuid)): withUnsafeBytes(of: uuid.uuid) { append($0) }
    case (.data, .data(let data)): data.withUnsafeBytes { append($0) }
    case (.decimal, .decimal(let number)): try append(number)
    default:
      throw CoherenceError(
        .wrongType, "A value does not have the type \(storage) of its column; assign a value of that type.")
    }
  }

  private static func narrowed<Integer: FixedWidthInteger>(_ number: Int64, to type: Integer.Type) throws -> Integer {
    guard let result = Integer(exactly: number) else {
      throw CoherenceError(
        .invalidValue, "A number does not fit into \(Integer.bitWidth) bits; change it, or the attribute's type.")
    }
    return result
  }

  private static func timestamp(_ date: Timestamp, clamps: Bool) throws -> Int64 {
    if PostgreSQLBinary.isStorable(date) { return date.microseconds - PostgreSQLBinary.epoch }
    guard clamps else {
      throw CoherenceError(.invalidValue, "PostgreSQL keeps no date before 4714-11-24 BC; change the date.")
    }
    return Int64.min
  }

  /// Appends a list of values as a one-dimensional array; see `append(_:as:clampsDates:)`.
  func append(array values: [AttributeValue], as storage: StorageType, clampsDates: Bool) throws {
    // The header: one dimension, no flags, the type of the elements, their number, and the index of the first one.
    append(1 as Int32)
    append(0 as Int32)
    append(PostgreSQLBinary.type(of: storage))
    append(Int32(values.count))
    append(1 as Int32)
    for value in values { try appendField(value, as: storage, clampsDates: clampsDates) }
  }

  /// Appends a value with its length before it; a missing value has the length -1.
  @inline(__always)
  func appendField(_ value: AttributeValue, as storage: StorageType, clampsDates: Bool = false) throws {
    if value.isNull { return append(-1 as Int32) }
    // The most frequent values, without a second look at the type.
    if storage == .string, case .string(let text) = value { return append(textField: text) }
    let start = count
    append(0 as Int32)
    try append(value, as: storage, clampsDates: clampsDates)
    // Too large a value is refused before it is sent.
    overwrite(Int32(clamping: count - start - 4), at: start)
  }
}

// MARK: - Reading

extension PostgreSQLBinary {
  /// Reads a value of a representation from the bytes of a field; returns `nil` for malformed bytes.
  @inline(__always)
  static func value(_ bytes: UnsafeRawPointer, count: Int, as storage: StorageType) -> AttributeValue? {
    switch storage {
    case .int64: count == 8 ? .int(bytes.bigEndian(Int64.self)) : nil
    case .int32: count == 4 ? .int(Int64(bytes.bigEndian(Int32.self))) : nil
    case .int16: count == 2 ? .int(Int64(bytes.bigEndian(Int16.self))) : nil
    case .bool: count == 1 ? .bool(bytes.load(as: UInt8.self) != 0) : nil
    case .double: count == 8 ? .double(Double(bitPattern: bytes.bigEndian())) : nil
    case .float: count == 4 ? .double(Double(Float(bitPattern: bytes.bigEndian()))) : nil
    case .string: .string(String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self))
    case .data: .data(Data(bytes: bytes, count: count))
    case .date: count == 8 ? .date(timestamp(bytes.bigEndian())) : nil
    case .uuid: count == 16 ? .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))) : nil
    case .decimal: decimal(bytes, count: count).map(AttributeValue.decimal)
    case .reference: nil
    }
  }
}
