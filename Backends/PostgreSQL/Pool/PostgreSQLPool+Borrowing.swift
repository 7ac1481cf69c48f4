import CoherenceCore

extension PostgreSQLPool {
  /// Throws when the pool was closed.
  func checkIsOpen() throws {
    if isClosed { throw CoherenceError.closedPool }
  }

  /// Runs a block with a connection.
  func withConnection<T>(for purpose: Purpose, _ body: (PostgreSQLConnection) throws -> T) throws -> T {
    let connection = try acquire(for: purpose)
    defer { release(connection, from: purpose) }
    return try body(connection)
  }
}
