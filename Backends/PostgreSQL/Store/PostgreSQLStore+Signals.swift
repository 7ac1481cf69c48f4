import CoherenceCore
import CoherenceSQL

/// Notifications of the server, with the channel as their payload: one connection listens for all channels.
extension PostgreSQLStore: StoreSignaling {
  func signal(_ channel: String) throws {
    try write { connection in
      _ = try connection.run("SELECT pg_catalog.pg_notify(\(text: notificationName), \(text: channel))")
    }
  }

  func listen(to channel: String, _ receive: @escaping @Sendable () -> Void) throws -> SignalListening {
    try pool.checkIsOpen()
    return signals.listen(to: channel, receive) { [signals, pool] in
      PostgreSQLListener(
        pool.options, name: notificationName, reportingTo: signals, logger: pool.logger)
    }
  }

  /// The server's name for the notifications of the store. A schema copied within a database shares it.
  var notificationName: String { "coherence:\(identifier.rawValue)" }
}

extension PostgreSQLConnection {
  /// Queues a notification, which the server delivers with the commit.
  func sendNotification(_ name: String, _ payload: String) throws {
    try send(Self.notifying) { fields in
      fields.append(name)
      fields.append(payload)
    }
  }

  private static let notifying = PostgreSQLText(
    "SELECT pg_catalog.pg_notify($1, $2)",
    types: [PostgreSQLBinary.type(of: .string), PostgreSQLBinary.type(of: .string)])
}
