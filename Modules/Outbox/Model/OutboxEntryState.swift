public import CoherenceCore

/// The state of an entry of an outbox.
///
/// Only the first entry of a record is sent and parked. The later entries of the record are pending until the first is
/// removed.
public enum OutboxEntryState: Int16, Sendable, Hashable, CaseIterable, AttributeConvertible {
  /// The entry waits to be sent, or for its next attempt.
  case pending = 0
  /// A process has claimed the entry to send it, until the end of its lease.
  case sending = 1
  /// The entry is not sent any more until it is retried: the server refused it, its attempts are used up, or the
  /// application parked it.
  case parked = 2
}
