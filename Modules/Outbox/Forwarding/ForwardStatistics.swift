/// The counts of a forwarder since the outbox was made.
public struct ForwardStatistics: Sendable, Hashable {
  /// The number of calls of handlers, by edit: an edit in a batch counts by itself.
  public var attempts = 0
  /// The number of edits that the server has accepted.
  public var accepted = 0
  /// The number of failed attempts after which another one follows.
  public var retried = 0
  /// The number of edits that were parked.
  public var parked = 0
  /// The number of conflicts that the server reported.
  public var conflicts = 0
  /// The number of entries that became a part of an earlier entry's edit.
  public var coalesced = 0
  /// The number of edits that another forwarder took over, because the lease had expired.
  public var lost = 0
  /// The number of searches for entries to send. An idle forwarder does not search.
  public var scans = 0
  /// The number of edits that are being sent now.
  public var inFlight = 0

  /// Makes counts of zero.
  public init() {}
}
