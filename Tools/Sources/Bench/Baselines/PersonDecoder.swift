import Foundation

/// Reads a record from a row of PostgreSQL's binary COPY: the number of fields, and each with its length.
struct PersonDecoder {
  private let bytes: UnsafeRawBufferPointer
  private var position: Int
  /// The header of a COPY: the signature, the flags and the length of the extension.
  static let headerSize = 19

  init(_ bytes: UnsafeRawBufferPointer, at start: Int) {
    self.bytes = bytes
    position = start
  }

  /// The record; `nil` for the row that marks the end.
  @inline(__always) mutating func person() -> Person? {
    guard integer(Int16.self) == 11 else { return nil }
    return Person(
      id: field(), uuid: text(), firstName: text(), middleName: text(), lastName: text(), email: text(),
      age: Int(field()), score: Double(bitPattern: UInt64(bitPattern: field())),
      created: Date(microseconds: field() + PostgreSQLTuple.epoch), isActive: flag(), notes: optionalText())
  }

  @inline(__always) private mutating func integer<I: FixedWidthInteger>(_ type: I.Type) -> I {
    defer { position += MemoryLayout<I>.size }
    return I(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: type))
  }

  @inline(__always) private mutating func field() -> Int64 {
    position += 4
    return integer(Int64.self)
  }

  @inline(__always) private mutating func flag() -> Bool {
    position += 4
    return integer(UInt8.self) != 0
  }

  @inline(__always) private mutating func text() -> String { optionalText() ?? "" }

  @inline(__always) private mutating func optionalText() -> String? {
    let count = Int(integer(Int32.self))
    guard count >= 0 else { return nil }
    defer { position += count }
    return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]), as: UTF8.self)
  }
}
