import CoherenceCore
import Foundation

/// The names of the options of SQLite stores, beside those of ``StoreOption``. Attaching a store with a value of
/// another type, or out of the range, throws ``ErrorCode/invalidOption``.
///
/// Stores of one file in one process share their writing connection. The strictest `synchronous` of these stores then
/// applies to all of them. The `busyTimeout` of the first attached store applies to all of their saves.
public enum SQLiteOption {
  /// The durability of saves. A `string`.
  ///
  /// - `full`, the default: a save is durable when it returns, so that no failure of the machine undoes it.
  /// - `normal`: a power failure may undo the last saves, but not damage the store.
  /// - `off`: a power failure may damage the store.
  public static let synchronous = "synchronous"
  /// The longest wait in seconds for another process that writes, before ``ErrorCode/storeBusy``. An `int` or `double`
  /// up to a day, 10 by default.
  public static let busyTimeout = "busyTimeout"
  /// The maximum number of idle reading connections. An `int` from 1 to 256, 4 by default. Further connections are
  /// opened when needed, so that readers never wait.
  public static let readers = "readers"
}

/// The options of a store, checked.
struct SQLiteOptions: Sendable {
  /// The values of SQLite's setting `synchronous`, the laxest first.
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
    try environment.checkOptionNames(
      besides: [SQLiteOption.synchronous, SQLiteOption.busyTimeout, SQLiteOption.readers])
    isReadOnly = environment.isReadOnly
    let modes: [String: Synchronous] = ["full": .full, "normal": .normal, "off": .off]
    let mode = try environment.text(SQLiteOption.synchronous, "\"full\", \"normal\" or \"off\"") { modes[$0] != nil }
    synchronous = mode.flatMap { modes[$0] } ?? synchronous
    busyTimeout = try environment.seconds(SQLiteOption.busyTimeout) ?? busyTimeout
    readers = try environment.number(SQLiteOption.readers, in: 1...256) ?? readers
  }
}
