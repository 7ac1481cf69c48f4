/// The numbers of entries of an outbox by state.
public struct OutboxCounts: Sendable, Hashable {
  /// The entries that wait to be sent, or for an earlier entry of their record.
  public var pending = 0
  /// The entries that a process sends.
  public var sending = 0
  /// The entries that are not sent any more until they are retried.
  public var parked = 0

  /// All entries.
  public var total: Int { pending + sending + parked }

  /// Makes numbers of entries.
  public init(pending: Int = 0, sending: Int = 0, parked: Int = 0) {
    self.pending = pending
    self.sending = sending
    self.parked = parked
  }
}
