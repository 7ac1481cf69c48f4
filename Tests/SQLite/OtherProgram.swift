import GRDB

/// Another program with the store's file open, which knows nothing of stores.
final class OtherProgram {
  private let queue: DatabaseQueue

  /// - Parameter keepsTransactions: Whether a transaction may stay open after ``run(_:)``.
  init(_ path: String, keepsTransactions: Bool = false) throws {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = keepsTransactions
    queue = try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Runs SQL, each statement in a separate transaction.
  func run(_ text: String) throws { try queue.inDatabase { try $0.execute(sql: text) } }

  func close() throws { try queue.close() }
}
