public import CoherenceCore
import CoherenceSQL
import Foundation

extension StoreType {
  /// A store in a file, kept by SQLite.
  public static let sqlite = StoreType("SQLite", factory: SQLiteStoreFactory())
}

/// Opens SQLite stores.
///
/// A new file can be read and written by the owner of the file only. See ``SQLiteOption`` for the options.
public struct SQLiteStoreFactory: StoreFactory {
  public init() {}

  public var usesFiles: Bool { true }

  public func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    try SQLiteStore(environment, path: Self.path(environment))
  }

  public func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
    try Self.reading(environment) { session, path in try session.storeState(path: path)?.metadata }
  }

  /// Runs a block in one state of the file, over a connection of its own; `nil` without a file.
  fileprivate static func reading<T>(
    _ environment: StoreEnvironment, _ body: (SQLiteSession, _ path: String) throws -> T?
  ) throws -> T? {
    let path = try Self.path(environment)
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    try SQLiteFile.checkPath(path)
    // A connection with the right to write removes the log files that a read of the metadata creates. The connection
    // needs the right to write in the directory too.
    let options = try SQLiteOptions(environment)
    let directory = (SQLiteFiles(path: path).path as NSString).deletingLastPathComponent
    let connection =
      [path, directory].allSatisfy { FileManager.default.isWritableFile(atPath: $0) }
      ? try SQLiteConnection(
        path: path, role: .writer, busyTimeout: options.busyTimeout, logger: environment.logger)
      : try .reader(of: SQLiteFiles(path: path), options: options, logger: environment.logger)
    defer { connection.close() }
    return try connection.use { session in try session.inReadTransaction { try body(session, path) } }
  }

  public func setAside(_ environment: StoreEnvironment) throws -> String {
    let path = try Self.path(environment)
    try Self.checkIsFile(path)
    try Self.checkIsClosed(path, before: "set aside")
    let target = Self.freeName(path)
    do {
      try SQLiteFileMove(path: path, target: target).run()
    } catch {
      throw CoherenceError(
        .storeInaccessible, "'\(path)' cannot be moved to '\(target)'; check the permissions of the directory.",
        underlying: error)
    }
    return target
  }

  /// Refuses a directory, whose whole content would be moved or removed in place of a file, and a device, a pipe or a
  /// socket, which other programs need.
  private static func checkIsFile(_ path: String) throws {
    var isDirectory: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
      throw CoherenceError(.storeInaccessible, "'\(path)' is a directory; name the file of a store in it.")
    }
    guard FileIdentity.isSpecial(path: path) else { return }
    throw CoherenceError(.storeInaccessible, "'\(path)' is a device, a pipe or a socket; name the file of a store.")
  }

  private static func checkIsClosed(_ path: String, before what: String) throws {
    guard SQLiteFile.isOpen(path: path) else { return }
    throw CoherenceError(.storeBusy, "'\(path)' is open in this process; detach its stores before it is \(what).")
  }

  /// `<name>.<timestamp>.<suffix>`, with a number when that name is taken.
  static func freeName(_ path: String, suffix: String = "incompatible") -> String {
    let stamp = Date.now.nameStamp
    var candidate = "\(path).\(stamp).\(suffix)"
    var number = 2
    while FileManager.default.fileExists(atPath: candidate) {
      candidate = "\(path).\(stamp)-\(number).\(suffix)"
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

extension SQLiteStoreFactory: MigrationPreviewing {
  /// Compares the file with the environment's model.
  public func migrationPreview(_ environment: StoreEnvironment) throws -> MigrationPreview? {
    try Self.reading(environment) { session, path in
      guard let state = try session.storeState(path: path) else { return nil }
      return try SQLiteStore.change(from: state, to: environment, path: path)
        .preview { try session.integers($0) }
    }
  }
}

extension SQLiteStoreFactory: StoreErasing {
  /// Removes the file with its log, and a symbolic link by which the store is named.
  public func erase(_ environment: StoreEnvironment) throws {
    let path = try Self.path(environment)
    try Self.checkIsFile(path)
    try Self.checkIsClosed(path, before: "erased")
    do {
      // Removes the database first: a log without a database is useless, but a database without its log has lost
      // acknowledged commits.
      let file = SQLiteFiles(path: path).path
      for suffix in ["", "-shm", "-wal"] where FileManager.default.fileExists(atPath: file + suffix) {
        try FileManager.default.removeItem(atPath: file + suffix)
      }
      if (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil {
        try FileManager.default.removeItem(atPath: path)
      }
    } catch {
      throw CoherenceError(
        .storeInaccessible, "'\(path)' cannot be removed; check the permissions of the directory.", underlying: error)
    }
  }
}
