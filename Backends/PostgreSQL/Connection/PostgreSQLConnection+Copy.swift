import CLibPQ
import CoherenceCore

/// The header of a binary COPY: the signature, no flags, and an empty extension.
enum PostgreSQLCopyHeader {
  static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]
  static let count = signature.count + 8
}

extension PostgreSQLConnection {
  /// Runs a `COPY … FROM STDIN (FORMAT binary)`, the fastest way to add many rows. The responses to all earlier
  /// statements must have been received.
  ///
  /// - Parameter write: Appends the rows to the buffer: for each, the number of fields and the fields. Called until it
  ///   returns `false`; the buffer is sent after each call.
  func copy(_ text: String, write: (ByteBuffer) throws -> Bool) throws {
    try leavePipeline()
    defer { enterPipeline() }
    try sendSimply(text)
    try receiveCopy(expecting: PGRES_COPY_IN)
    do {
      try writeRows(write)
    } catch {
      if !isBroken { try? endCopy("given up") }
      throw error
    }
    try endCopy(nil)
    endCancellation()
  }

  /// Sends statements outside of pipeline mode.
  func sendSimply(_ text: String) throws {
    guard PQsendQuery(raw, text) == 1 else { throw CoherenceError.connectionLost() }
    try flush()
  }

  /// Ends the rows sent to the server.
  ///
  /// - Parameter failure: The reason to discard the rows; `nil` to keep them.
  private func endCopy(_ failure: String?) throws {
    guard PQputCopyEnd(raw, failure) == 1 else { throw CoherenceError.connectionLost() }
    try flush()
    try receiveCopy(expecting: PGRES_COMMAND_OK)
  }

  private func writeRows(_ write: (ByteBuffer) throws -> Bool) throws {
    let buffer = ByteBuffer(capacity: 128 * 1024)
    for byte in PostgreSQLCopyHeader.signature { buffer.append(byte) }
    buffer.append(0 as Int32)
    buffer.append(0 as Int32)
    while try write(buffer) { try put(buffer) }
    buffer.append(-1 as Int16)
    try put(buffer)
  }

  private func put(_ buffer: ByteBuffer) throws {
    try PostgreSQLMessage.check(buffer.count)
    // Safety of `assumingMemoryBound`: the buffer has bytes alone.
    let start = buffer.base.assumingMemoryBound(to: CChar.self)
    guard PQputCopyData(raw, start, Int32(buffer.count)) == 1 else { throw CoherenceError.connectionLost() }
    // libpq buffers data that the server does not accept at once. The flush waits until the buffer is sent.
    try flush()
    buffer.removeAll()
  }

  /// Waits for a response of a status and, unless a copy of rows begins now, for the end of the command.
  func receiveCopy(expecting status: ExecStatusType) throws {
    var failure: CoherenceError?
    var hasExpectedStatus = false
    while let result = try rawResult() {
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case status:
        hasExpectedStatus = true
        if status != PGRES_COMMAND_OK { return }
      case PGRES_COMMAND_OK: continue
      default: failure = failure ?? error(for: result)
      }
    }
    if let failure { throw failure }
    if !hasExpectedStatus { throw CoherenceError.connectionLost() }
  }
}
