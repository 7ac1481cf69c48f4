import CoherenceCore
import Foundation

/// The values that all changes of one record of the log share.
struct LoggedSave {
  /// The identifier of the log's record. Its store is the store of the entries.
  let id: ManagedObjectID
  /// The sequence of the first change of the record.
  let sequence: Int64
  /// See ``OutboxEntryRecord/transaction``.
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
  /// The bytes of the whole log, and the ranges of the parts of the change in them.
  private let bytes: [UInt8]
  private let parts: (identity: Range<Int>, references: Range<Int>, payload: Range<Int>, whole: Range<Int>)

  fileprivate init(
    _ log: inout LogReader, firstSequence: Int64, _ key: UUID
  ) throws(CoherenceError) {
    guard let kind = OutboxEntryKind(rawValue: Int16(try log.reader.byte())) else { throw EntryReader.unreadable }
    self.kind = kind
    let offset = try log.reader.signed()
    sequence = firstSequence &+ offset
    idempotencyKey = key.combined(with: offset)
    entityName = try log.name()
    let rootName = try log.name()
    record = OutboxRecord(rootName: rootName, key: try log.reader.signed())
    recordVersion = try log.reader.signed()
    parts = (try log.reader.part(), try log.reader.part(), try log.reader.part(), try log.reader.part())
    bytes = log.reader.bytes
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
  fileprivate var reader: EntryReader
  private let firstSequence: Int64
  /// The random key from which the idempotency keys of the changes are made.
  private let key: UUID
  /// The names of entities and roots in the changes so far; later changes refer to them by index.
  private var names: [String] = []

  /// - Throws: ``ErrorCode/storeCorrupt``, as ``EntryReader``.
  init(_ payload: Data, firstSequence: Int64) throws(CoherenceError) {
    self.firstSequence = firstSequence
    do {
      reader = try EntryReader(payload)
      key = try reader.uuid()
    } catch {
      throw Self.unreadable
    }
  }

  /// Reads the next change; `nil` at the end.
  mutating func next() throws(CoherenceError) -> LogChange? {
    if reader.isAtEnd { return nil }
    do {
      return try LogChange(&self, firstSequence: firstSequence, key)
    } catch {
      throw Self.unreadable
    }
  }

  /// Reads all changes of a record of the log.
  ///
  /// - Throws: As ``init(_:firstSequence:)``, also for a record that is damaged after its first changes.
  static func changes(in payload: Data, firstSequence: Int64) throws(CoherenceError) -> [LogChange] {
    var reader = try LogReader(payload, firstSequence: firstSequence)
    var changes: [LogChange] = []
    while let change = try reader.next() { changes.append(change) }
    return changes
  }

  /// The error for an unreadable record of the log. No entries are made of such a record, because a part of a save may
  /// miss edits on which its other edits depend. For the same reason no later edit is sent before a person has dropped
  /// the record.
  static var unreadable: CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "A save in the log of the outbox cannot be read: a later release wrote it, or it is damaged. Update the program, "
        + "or drop the entry of the save, which `entries(state: .parked)` lists; until then, later edits in the store "
        + "wait, and merges of the forwarded entities in the store fail.")
  }

  /// Reads the name of an entity or a root: the index of an earlier name, or the next index with a new name.
  fileprivate mutating func name() throws(CoherenceError) -> String {
    let index = try reader.count(in: names.count + 1)
    if index == names.count { names.append(try reader.text()) }
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
