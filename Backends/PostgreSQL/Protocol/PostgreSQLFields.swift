import CoherenceCore
import CoherenceSQL
import Foundation

/// The values of a statement's parameters, in libpq's format. A connection has one object, whose memory is reused for
/// each statement.
final class PostgreSQLFields {
  private let buffer = ByteBuffer()
  /// The offset of each value in the buffer; `nil` for null.
  private var starts: [Int?] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []
  private var pointers: [UnsafePointer<CChar>?] = []

  /// The number of values.
  var count: Int { starts.count }
  /// The bytes of all values.
  var byteCount: Int { buffer.count }

  func removeAll() {
    buffer.removeAll()
    starts.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
  }

  /// Appends the value of the next parameter.
  func append(_ value: AttributeValue, as storage: StorageType, clampsDates: Bool = false) throws {
    try append(isNull: value.isNull) { try $0.append(value, as: storage, clampsDates: clampsDates) }
  }

  func append(_ number: Int64) { append(isNull: false) { $0.append(number) } }

  func append(_ identifier: UUID) {
    append(isNull: false) { buffer in
      withUnsafeBytes(of: identifier.uuid) { bytes in
        for byte in bytes { buffer.append(byte) }
      }
    }
  }

  func append(_ text: String) { append(isNull: false) { $0.append(text) } }

  func append(_ binding: SQLBinding, clampsDates: Bool) throws {
    switch binding {
    case .value(let value, let storage): try append(value, as: storage, clampsDates: clampsDates)
    // A bound list stands only in conditions, so its dates may be out of the server's range.
    case .array(let values, let storage): try append(array: values, as: storage, clampsDates: true)
    }
  }

  /// Appends a list as the value of the next parameter.
  func append(array values: [AttributeValue], as storage: StorageType, clampsDates: Bool = false) throws {
    try append(isNull: false) { try $0.append(array: values, as: storage, clampsDates: clampsDates) }
  }

  @inline(__always)
  private func append(isNull: Bool, _ write: (ByteBuffer) throws -> Void) rethrows {
    let start = buffer.count
    if !isNull { try write(buffer) }
    starts.append(isNull ? nil : start)
    // Too large a value is refused before it is sent.
    lengths.append(Int32(clamping: buffer.count - start))
  }

  /// Calls a block with the number of values and libpq's arrays of addresses, lengths and formats.
  func withArrays<T>(
    _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) throws -> T
  ) rethrows -> T {
    // 1 is the binary format.
    while formats.count < starts.count { formats.append(1) }
    pointers.removeAll(keepingCapacity: true)
    for start in starts {
      // Safety of `assumingMemoryBound`: the buffer has bytes alone.
      pointers.append(start.map { UnsafePointer((buffer.base + $0).assumingMemoryBound(to: CChar.self)) })
    }
    return try body(Int32(starts.count), pointers, lengths, formats)
  }
}
