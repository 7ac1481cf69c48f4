import CoherenceCore
import Foundation

/// The values that all changes of one record of the log share.
struct LoggedSave {
  /// The identifier of the log's record. Its store is the store of the entries.
  let id: ManagedObjectID
  let sequence: Int64
  let transaction: Int64
  let author: String?
  let enqueued: Date
}

/// One change in the log, from which one entry is made.
struct LogChange {
  let kind: OutboxEntryKind
  let sequence: Int64
  let idempotencyKey: UUID
  /// The name of the record's own entity when the save recorded it.
  let entityName: String
  /// The record, by the name of the root when the save recorded it.
  let record: OutboxRecord
  let recordVersion: Int64
  private let bytes: [UInt8]
  private let parts: (identity: Range<Int>, references: Range<Int>, payload: Range<Int>, whole: Range<Int>)

  fileprivate init(
    _ reader: inout LogReader, firstSequence: Int64, _ key: UUID
  ) throws(CoherenceError) {
    guard let kind = OutboxEntryKind(rawValue: Int16(try reader.bytes.byte())) else { throw EntryReader.unreadable }
    self.kind = kind
    let offset = try reader.bytes.signed()
    sequence = firstSequence &+ offset
    idempotencyKey = key.combined(with: offset)
    entityName = try reader.name()
    let rootName = try reader.name()
    record = OutboxRecord(rootName: rootName, key: try reader.bytes.signed())
    recordVersion = try reader.bytes.signed()
    parts = (try reader.bytes.part(), try reader.bytes.part(), try reader.bytes.part(), try reader.bytes.part())
    bytes = reader.bytes.bytes
  }

  /// The values of the entry, in the forms of ``OutboxEntryRecord``.
  var identity: Data? { data(parts.identity) }
  var references: Data? { data(parts.references) }
  var payload: Data { Data(bytes[parts.payload]) }
  /// The payload, without a copy.
  var payloadBytes: EntryBytes { EntryBytes(bytes, in: parts.payload) }
  /// The payload with the values over 32 KB; `nil` without such values.
  var whole: Data? { data(parts.whole) }

  private func data(_ range: Range<Int>) -> Data? { range.isEmpty ? nil : Data(bytes[range]) }
}

/// Reads the changes of an ``OutboxLogRecord`` in their order. Every damage of the data ends in an error.
struct LogReader {
  fileprivate var bytes: EntryReader
  private let firstSequence: Int64
  private let key: UUID
  private var names: [String] = []

  /// - Throws: As ``EntryReader``.
  init(_ payload: Data, firstSequence: Int64) throws(CoherenceError) {
    bytes = try EntryReader(payload)
    self.firstSequence = firstSequence
    key = try bytes.uuid()
  }

  /// Reads the next change; `nil` at the end.
  mutating func next() throws(CoherenceError) -> LogChange? {
    bytes.isAtEnd ? nil : try LogChange(&self, firstSequence: firstSequence, key)
  }

  fileprivate mutating func name() throws(CoherenceError) -> String {
    let index = try bytes.count(in: names.count + 1)
    if index == names.count { names.append(try bytes.text()) }
    return names[index]
  }
}

extension UUID {
  /// The idempotency key of a change: the key of its log, with the offset of the change added to the lowest 32 bits by
  /// exclusive or. A log needs only one random key.
  func combined(with offset: Int64) -> UUID {
    var bytes = uuid
    let low = UInt32(truncatingIfNeeded: offset)
    bytes.12 ^= UInt8(truncatingIfNeeded: low >> 24)
    bytes.13 ^= UInt8(truncatingIfNeeded: low >> 16)
    bytes.14 ^= UInt8(truncatingIfNeeded: low >> 8)
    bytes.15 ^= UInt8(truncatingIfNeeded: low)
    return UUID(uuid: bytes)
  }
}
