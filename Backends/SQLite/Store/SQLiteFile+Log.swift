import CoherenceSQL
import Synchronization

extension SQLiteFile {
  /// Has the next transaction begin a long log anew. Called with the writers' lock, after a transaction.
  ///
  /// SQLite itself does so only when a commit finds no reader of an earlier state. Under constant reads, no commit does:
  /// the log would grow without bound, and each read would become slower. So the longest logs are worth a short wait,
  /// during which the present readers end, and new readers find all pages in the database.
  func shortenLog() {
    guard let count = states?.index.state?.frameCount else { return }
    let limit = longLog.load(ordering: .relaxed)
    guard count >= limit else { return nextShortening.store(0, ordering: .relaxed) }
    // In the place of a deleted log, another process may have begun another one.
    guard count >= nextShortening.load(ordering: .relaxed), files.missingLog == nil else { return }
    // The transaction before is committed. After an error, or beside a reader that lasts longer, the log stays.
    let isDone = (try? writer.use { try $0.restartLog() }) ?? false
    nextShortening.store(isDone ? 0 : count + limit / 4, ordering: .relaxed)
  }

  /// Writes the content of the log into a moved, deleted or replaced database. Called before the close.
  ///
  /// SQLite leaves the log of such a database at its path. A moved database would miss the commits in the log, and
  /// SQLite would apply the log to the next file at the path.
  func emptyLogOfMissingDatabase() {
    // In the place of a deleted log, another process may have begun another one.
    guard files.isDatabaseMissing, files.missingLog == nil else { return }
    try? writer.use { session in
      session.rollBack()
      // Beside a reader that lasts longer, the log stays.
      try session.uninterrupted {
        try session.waitingForOthers(atMost: .milliseconds(100)) {
          _ = try session.integers("PRAGMA wal_checkpoint(TRUNCATE)")
        }
      }
    }
  }
}

extension SQLiteSession {
  /// Writes the content of the log into the database, and waits a short time until no reader needs the log.
  ///
  /// - Returns: Whether the next transaction can begin the log anew.
  fileprivate func restartLog() throws -> Bool {
    guard !isInTransaction else { return false }
    var isBusy = true
    try waitingForOthers(atMost: .milliseconds(100)) {
      isBusy = try integers("PRAGMA wal_checkpoint(RESTART)").first != 0
    }
    return !isBusy
  }
}
