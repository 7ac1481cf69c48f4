import CoherenceCore
import Foundation

/// The names of the options of SQLite stores, beside those of ``StoreOption``.
///
/// Stores of one file in one process share their writing connection; `synchronous` is then the strictest that any of
/// them asks for.
public enum SQLiteOption {
  /// When a save is durable: a `string`.
  ///
  /// - `full`, the default: before it returns, so that no failure of the machine undoes it.
  /// - `normal`: a power failure may undo the last saves, but not damage the store.
  /// - `off`: a power failure may damage the store.
  public static let synchronous = "synchronous"
  /// How many seconds to wait for another process that writes, before ``ErrorCode/storeBusy``. An `int` or `double`, 10
  /// by default.
  public static let busyTimeout = "busyTimeout"
  /// How many idle connections for reading to keep. An `int`, 4 by default. When more are needed at once they are made,
  /// so that readers never wait.
  public static let readers = "readers"
}

/// The options of a store, checked.
struct SQLiteOptions: Sendable {
  /// SQLite's setting of that name, laxest first.
  enum Synchronous: Int, Sendable, Comparable {
    case off, normal, full
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    var name: String { "\(self)" }
  }

  var synchronous = Synchronous.full
  var busyTimeout: TimeInterval = 10
  var readers = 4
  var isReadOnly: Bool

  init(_ environment: StoreEnvironment) throws {
    isReadOnly = environment.isReadOnly
    let modes: [String: Synchronous] = ["full": .full, "normal": .normal, "off": .off]
    let mode = try environment.text(SQLiteOption.synchronous, "\"full\", \"normal\" or \"off\"") { modes[$0] != nil }
    synchronous = mode.flatMap { modes[$0] } ?? synchronous
    busyTimeout = try environment.seconds(SQLiteOption.busyTimeout) ?? busyTimeout
    readers = try environment.number(SQLiteOption.readers, in: 1...256) ?? readers
  }
}
