import CoherenceCore

/// The limit of one message to the server.
enum PostgreSQLMessage {
  /// The greatest number of bytes of values in a message. After a message of 1 GB the server closes the connection
  /// without an error. The difference is for the other parts of the message.
  static let greatestByteCount = (1 << 30) - (1 << 24)

  /// Refuses values that do not fit into one message.
  ///
  /// - Throws: ``ErrorCode/limitExceeded``.
  static func check(_ byteCount: Int) throws {
    guard byteCount > greatestByteCount else { return }
    throw CoherenceError(
      .limitExceeded,
      "The values of a statement have \(byteCount) bytes, and PostgreSQL takes less than 1 GB at once; save fewer "
        + "records at once, or keep such data in files.")
  }
}
