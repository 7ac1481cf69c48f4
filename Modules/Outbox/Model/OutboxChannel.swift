/// The names of the signals that outboxes of one store exchange.
enum OutboxChannel {
  /// Entries were added, or became ready.
  static let entries = "coherence.outbox"
}
