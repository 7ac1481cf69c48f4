public import CoherenceCore
import CoherenceSQL
import Foundation

extension StoreType {
  /// A store in a file, kept by SQLite.
  public static let sqlite = StoreType("SQLite", factory: SQLiteStoreFactory())
}

/// Opens SQLite stores.
///
/// A fresh file can be read and written by its owner only. See ``SQLiteOption`` for what can be chosen.
public struct SQLiteStoreFactory: StoreFactory {
  public init() {}

  public var usesFiles: Bool { true }

  public func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    try SQLiteStore(environment, path: Self.path(environment))
  }

  public func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
    let path = try Self.path(environment)
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    // A connection that may write removes the log files that looking at the store brings about.
    let role: SQLiteConnection.Role = FileManager.default.isWritableFile(atPath: path) ? .writer : .reader
    let options = try SQLiteOptions(environment)
    let connection = try SQLiteConnection(
      path: path, role: role, busyTimeout: options.busyTimeout, logger: environment.logger)
    defer { connection.close() }
    return try connection.use { session in
      try session.inReadTransaction { try session.storeState(path: path)?.metadata }
    }
  }

  public func setAside(_ environment: StoreEnvironment) throws -> String {
    let path = try Self.path(environment)
    guard !SQLiteFile.isOpen(path: path) else {
      throw CoherenceError(.storeBusy, "'\(path)' is open in this process; detach its stores before it is set aside.")
    }
    let target = Self.freeName(path)
    do {
      // The log first: without the database it means nothing, and the database without it might be taken for whole.
      for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: path + suffix) {
        try FileManager.default.moveItem(atPath: path + suffix, toPath: target + suffix)
      }
    } catch {
      throw CoherenceError(
        .storeInaccessible, "'\(path)' cannot be moved to '\(target)'; check the permissions of the directory.",
        underlying: error)
    }
    return target
  }

  /// `<name>.<timestamp>.incompatible`, with a number when that is taken.
  private static func freeName(_ path: String) -> String {
    let stamp = Date.now.formatted(
      .iso8601.year().month().day().dateSeparator(.omitted).time(includingFractionalSeconds: false)
        .timeSeparator(.omitted))
    var candidate = "\(path).\(stamp).incompatible"
    var number = 2
    while FileManager.default.fileExists(atPath: candidate) {
      candidate = "\(path).\(stamp)-\(number).incompatible"
      number += 1
    }
    return candidate
  }

  private static func path(_ environment: StoreEnvironment) throws -> String {
    guard let url = environment.url, url.isFileURL else {
      throw CoherenceError(.invalidOption, "A SQLite store needs the URL of a file.")
    }
    return url.standardizedFileURL.path(percentEncoded: false)
  }
}
