/// The names of the signals that outboxes of one store exchange.
enum OutboxChannel {
  /// Entries were added, or may have become ready to be sent.
  static let entries = "coherence.outbox"
}
