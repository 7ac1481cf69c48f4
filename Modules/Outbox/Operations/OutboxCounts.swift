/// The numbers of entries of an outbox by state.
public struct OutboxCounts: Sendable, Hashable {
  /// The number of entries that wait to be sent, or for an earlier entry of their record.
  public var pending = 0
  /// The number of entries that a process has claimed to send them.
  public var sending = 0
  /// The number of parked entries, which are not sent until they are retried.
  public var parked = 0

  /// The number of all entries.
  public var total: Int { pending + sending + parked }

  /// Makes numbers of entries.
  public init(pending: Int = 0, sending: Int = 0, parked: Int = 0) {
    self.pending = pending
    self.sending = sending
    self.parked = parked
  }
}
