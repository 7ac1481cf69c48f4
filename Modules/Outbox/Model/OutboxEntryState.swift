public import CoherenceCore

/// The state of an entry of an outbox.
///
/// A forwarder sends and parks only the first entry of a record. The later entries of the record are pending until the
/// first entry is removed. The user can park any entry.
public enum OutboxEntryState: Int16, Sendable, Hashable, CaseIterable, AttributeConvertible {
  /// The entry waits to be sent, or for its next attempt.
  case pending = 0
  /// A process has claimed the entry to send it, until the end of its lease.
  case sending = 1
  /// The entry is not sent until it is retried: the server refused it, its attempts are used up, a conflict waits for
  /// the user, or the application parked it.
  case parked = 2
}
