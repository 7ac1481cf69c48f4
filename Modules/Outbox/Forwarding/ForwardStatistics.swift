/// The counts of an outbox's forwarding since the outbox was made.
public struct ForwardStatistics: Sendable, Hashable {
  /// The number of edits given to handlers. Each edit of a batch counts.
  public var attempts = 0
  /// The number of edits that the server has accepted.
  public var accepted = 0
  /// The number of failed attempts that another attempt follows.
  public var retried = 0
  /// The number of times that an edit was parked.
  public var parked = 0
  /// The number of conflicts that the server reported.
  public var conflicts = 0
  /// The number of entries that an attempt sent as a part of an earlier entry's edit.
  public var coalesced = 0
  /// The number of ignored results: another forwarder had taken over the edit, because this forwarder's lease had
  /// ended.
  public var lost = 0
  /// The number of searches for entries to send. An idle forwarder does not search.
  public var searches = 0
  /// The number of edits that handlers are sending now.
  public var inFlight = 0

  /// Makes counts of zero.
  public init() {}
}
