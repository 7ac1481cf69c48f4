import CLibPQ
import CoherenceCore

extension PostgreSQLConnection {
  /// Starts a `COPY … TO STDOUT (FORMAT binary)`, the fastest way to read many rows: no row becomes a result of
  /// libpq. ``receiveCopiedRow(into:)`` returns them. The responses to all earlier statements must have been
  /// received.
  ///
  /// - Parameter statements: The copy, after the statements to send in the same round trip.
  func beginCopiedRows(_ statements: [String]) throws {
    try leavePipeline()
    do {
      try sendSimply(statements.joined(separator: "; "))
      try receiveCopy(expecting: PGRES_COPY_OUT)
    } catch {
      enterPipeline()
      throw error
    }
    copyOut = .header
  }

  /// Receives the next row of the copy.
  ///
  /// - Returns: `false` at the end, when all responses are received.
  func receiveCopiedRow(into row: PostgreSQLCopiedRow) throws -> Bool {
    while let (message, count) = try copiedMessage() {
      let start = copyOut == .header ? PostgreSQLCopyHeader.count : 0
      copyOut = .rows
      if try row.decode(message, count: count, from: start) { return true }
    }
    try endCopiedRows()
    try discardResponses()
    return false
  }

  /// Receives and discards the rest of the copy, and the failure of a cancelled copy.
  func discardCopiedRows() throws {
    while let (message, _) = try copiedMessage() { PQfreemem(message) }
    do {
      try endCopiedRows()
    } catch {
      if isBroken { throw error }
    }
  }

  private func endCopiedRows() throws {
    copyOut = nil
    defer { enterPipeline() }
    try receiveCopy(expecting: PGRES_COMMAND_OK)
  }

  /// The next message of the copy; `nil` after the last. The caller frees its memory.
  private func copiedMessage() throws -> (UnsafeMutablePointer<CChar>, count: Int)? {
    while true {
      var message: UnsafeMutablePointer<CChar>?
      let count = PQgetCopyData(raw, &message, 1)
      if count > 0, let message { return (message, Int(count)) }
      switch count {
      case 0: try awaitInput()
      case -1: return nil
      default: throw CoherenceError.connectionLost()
      }
    }
  }
}
