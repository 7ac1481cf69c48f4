import Foundation
import GRDBSQLite

/// The table of an outbox's log, written directly with SQLite's C interface.
final class RawLog {
  /// The number of bytes of a change of a small number in the format of the log.
  private static let bytesOfChange = 38
  /// The number of bytes before the changes: a version, a key, and the name of the entity.
  private static let bytesOfHead = 31

  private let insert: RawStatement
  private let payload: [UInt8]
  private var sequence: Int64 = 1_700_000_000_000_000

  /// - Parameter changes: The number of changes in each row.
  init(in database: RawSQLite, changes: Int) throws {
    try database.execute(
      """
      CREATE TABLE log (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, sequence INTEGER, "transaction" INTEGER, \
      author TEXT, enqueued INTEGER, payload BLOB)
      """)
    insert = try database.prepare("INSERT INTO log VALUES (NULL, 1, ?, ?, NULL, ?, ?)")
    payload = [UInt8](repeating: 7, count: Self.bytesOfHead + changes * Self.bytesOfChange)
  }

  func append() throws {
    sequence += 1
    for index in Int32(1)...3 { insert.bind(sequence, at: index) }
    // A `nil` destructor is SQLITE_STATIC: the payload outlives the statement's run.
    try payload.withUnsafeBytes { bytes in
      sqlite3_bind_blob(insert.handle, 4, bytes.baseAddress, Int32(bytes.count), nil)
      _ = try insert.step()
    }
    insert.reset()
  }
}

extension RawStatement {
  /// Runs the statement once with integers as its parameters.
  func run(_ parameters: Int64...) throws {
    for (index, parameter) in parameters.enumerated() { bind(parameter, at: Int32(index + 1)) }
    _ = try step()
    reset()
  }
}
