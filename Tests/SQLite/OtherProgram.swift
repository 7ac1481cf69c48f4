import GRDB

/// Another program with the store's file open, which knows nothing of stores.
final class OtherProgram {
  private let queue: DatabaseQueue

  init(_ path: String) throws { queue = try DatabaseQueue(path: path) }

  /// Runs SQL, each statement in a separate transaction.
  func run(_ text: String) throws { try queue.inDatabase { try $0.execute(sql: text) } }

  func close() throws { try queue.close() }
}
