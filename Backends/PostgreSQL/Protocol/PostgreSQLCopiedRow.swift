import CLibPQ
import CoherenceCore

/// A row of a COPY: the number of its fields, and then each field with its length before it.
///
/// The fields are valid until the next call of ``decode(_:count:from:)``, which reuses the memory.
final class PostgreSQLCopiedRow: PostgreSQLRow {
  private struct Field {
    var start: UnsafeRawPointer
    /// The number of bytes; -1 for null.
    var count: Int
  }
  /// The memory of the last message, which the fields point into. Owned.
  private var message: UnsafeMutablePointer<CChar>?
  private var fields = UnsafeMutableBufferPointer<Field>.allocate(capacity: 0)

  deinit {
    fields.deallocate()
    PQfreemem(message)
  }

  @inline(__always)
  func bytes(_ column: Int) -> UnsafeRawBufferPointer? {
    guard column < fields.count, fields[column].count >= 0 else { return nil }
    return UnsafeRawBufferPointer(start: fields[column].start, count: fields[column].count)
  }

  /// Decodes the fields of a message, and takes ownership of the message's memory.
  ///
  /// - Parameter start: The offset of the row in the message.
  /// - Returns: Whether the message has a row: the last message has none.
  func decode(_ message: UnsafeMutablePointer<CChar>, count: Int, from start: Int) throws -> Bool {
    PQfreemem(self.message)
    self.message = message
    let bytes = UnsafeRawBufferPointer(start: message, count: count)
    guard count >= start + 2, let base = bytes.baseAddress else { return false }
    let number = Int((base + start).bigEndian(Int16.self))
    if number < 0 { return false }
    if fields.count != number { makeRoom(for: number) }
    var position = start + 2
    for index in 0..<number {
      guard count - position >= 4 else { throw CoherenceError.connectionLost() }
      let length = Int((base + position).bigEndian(Int32.self))
      position += 4
      guard length <= count - position else { throw CoherenceError.connectionLost() }
      fields.initializeElement(at: index, to: Field(start: base + position, count: length))
      position += max(length, 0)
    }
    return true
  }

  private func makeRoom(for number: Int) {
    fields.deallocate()
    fields = .allocate(capacity: number)
  }
}
