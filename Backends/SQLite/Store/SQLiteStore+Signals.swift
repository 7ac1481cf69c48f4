import CoherenceCore
import CoherenceSQL

/// The stores of one process share the ``SQLiteFile`` of their path, which calls the listeners of all of them. Other
/// processes notice commits, see ``SQLiteCommitWatch``.
extension SQLiteStore: StoreSignaling {
  func signal(_ channel: String) throws {
    let file = try writableFile()
    try file.write { session in
      // The transaction of an exclusion is committed at the end of the exclusion.
      if session.isInTransaction {
        try session.rewriteUserVersion()
        file.didWriteInExclusion()
      } else {
        try inTransactionWithoutRowChanges(session) { try session.rewriteUserVersion() }
      }
    }
    file.signals.signal(channel)
  }

  func listen(to channel: String, _ receive: @escaping @Sendable () -> Void) throws -> SignalListening {
    try checkOpen()
    guard let file = openFile else {
      return readerSignals.listen(to: channel, receive) { [readerSignals, pool] in
        SQLiteCommitWatch(reportingTo: readerSignals) {
          let reader = try SQLitePooledReader(from: pool)
          return { try reader.connection.use { try $0.dataVersion() } }
        }
      }
    }
    return file.signals.listen(to: channel, receive) {
      SQLiteCommitWatch(reportingTo: file.signals) { [weak file] in { try file?.dataVersion() } }
    }
  }

  /// Signals the channels of a committed save within the process.
  func sendSignals(of request: StoreSaveRequest) {
    guard !request.signals.isEmpty else { return }
    openFile?.signals.signal(request.signals)
  }
}

/// A connection of a pool, returned to the pool when this object is released.
private final class SQLitePooledReader {
  let connection: SQLiteConnection
  private let pool: SQLiteReaderPool

  init(from pool: SQLiteReaderPool) throws {
    connection = try pool.acquire()
    self.pool = pool
  }

  deinit { pool.release(connection) }
}

extension SQLiteFile {
  /// A number that changes with each commit of another process, and with no commit of this process.
  func dataVersion() throws -> Int64? { try write { try $0.dataVersion() } }
}
