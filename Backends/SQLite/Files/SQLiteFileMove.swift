import Foundation

/// The move of a closed database to another name in its directory, with its log.
///
/// The log gets its new name first, and loses its former name last. So the database has its log beside it, whenever the
/// process is killed: without the log, the commits in it would be lost. SQLite deletes a log that stays beside a new,
/// empty database.
struct SQLiteFileMove {
  /// The steps of the move, in their order.
  enum Step: CaseIterable {
    case nameLog, moveDatabase, removeFormerLog
  }

  let path: String
  let target: String

  /// Moves the files.
  ///
  /// - Throws: Errors of the file system. A move that fails before the database moves leaves no log at the new name.
  func run() throws {
    do {
      for step in Step.allCases { try perform(step) }
    } catch {
      if !Self.exists(target) { try? FileManager.default.removeItem(atPath: target + Self.logEnding) }
      throw error
    }
  }

  func perform(_ step: Step) throws {
    switch step {
    case .nameLog:
      // An interrupted move to the name leaves a log. SQLite would apply it to a database that has no log of its own.
      let newLog = target + Self.logEnding
      if Self.exists(newLog) { try FileManager.default.removeItem(atPath: newLog) }
      if Self.exists(path + Self.logEnding) { try nameLog() }
    case .moveDatabase: if Self.exists(path) { try FileManager.default.moveItem(atPath: path, toPath: target) }
    case .removeFormerLog:
      // SQLite makes the index of a log anew.
      for file in [path + Self.logEnding, path + Self.indexEnding] where Self.exists(file) {
        try FileManager.default.removeItem(atPath: file)
      }
    }
  }

  private func nameLog() throws {
    let (log, newLog) = (path + Self.logEnding, target + Self.logEnding)
    do {
      try FileManager.default.linkItem(atPath: log, toPath: newLog)
    } catch {
      // The file system may give a file one name only.
      try FileManager.default.copyItem(atPath: log, toPath: newLog)
      let copy = try FileHandle(forUpdating: URL(fileURLWithPath: newLog))
      try copy.synchronize()
      try copy.close()
    }
  }

  private static let logEnding = "-wal"
  private static let indexEnding = "-shm"

  private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}
