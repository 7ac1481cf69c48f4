import CoherenceCore
import Foundation

extension SQLiteStore: StoreCopying {
  /// Copies the state of the last commit, without the space of deleted records. Reads and saves of other threads and
  /// processes continue.
  func copy(to url: URL) throws {
    guard url.isFileURL else {
      throw CoherenceError(.invalidOption, "A copy of a SQLite store needs the URL of a file.")
    }
    try checkOpen()
    let target = url.standardizedFileURL.path(percentEncoded: false)
    try recoveringDeletedLog {
      try pool.withConnection { session in
        let copy = try SQLiteBackup(at: target, reading: session)
        do {
          try copy.finish()
        } catch {
          copy.discard()
          throw error
        }
      }
    }
  }
}
