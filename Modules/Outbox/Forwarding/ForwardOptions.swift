public import CoherenceActions
public import CoherenceCore

/// The limits, the clock and the policies of forwarding.
public struct ForwardOptions: Sendable {
  /// The maximum number of edits that are sent at once; at least one. Edits of one record are always sent one after the
  /// other.
  public var concurrency: Int
  /// The attempts of an edit, and the delays between them. After the last attempt, and after an error that is not
  /// retryable, the edit is parked. An error with the trait ``RetryAdvising`` sets the shortest delay.
  ///
  /// Attempts that fail while the ``connectivity`` is offline do not count.
  public var retry: RetryPolicy
  /// The longest delay that a server can ask for. A later date of a next attempt counts as due: the system's clock was
  /// set back since.
  public var longestDelay: Duration
  /// The time after which another forwarder takes over the entries of a forwarder that has crashed; at least one
  /// second. A running forwarder renews its leases at a third of this time.
  public var leaseDuration: Duration
  /// The number of handler calls whose edits are claimed ahead, so that a running call is followed by the next one at
  /// once. Later changes of these records wait behind the claimed edits.
  public var lookahead: Int
  /// The course after a server has reported a conflict.
  public var conflictPolicy: ForwardConflictPolicy
  /// The state of the network. Nothing is sent while it is offline.
  public var connectivity: any Connectivity
  /// The clock of delays and of the renewal of leases. With a manual clock, tests need not wait.
  /// The dates of next attempts and leases come from ``OutboxOptions/now``.
  public var clock: any Clock<Duration>

  /// Makes options. Numbers below their minimum count as the minimum.
  public init(
    concurrency: Int = 4, retry: RetryPolicy = RetryPolicy(attempts: 8, maximumDelay: .seconds(300)),
    longestDelay: Duration = .seconds(3600), leaseDuration: Duration = .seconds(60), lookahead: Int = 60,
    conflictPolicy: ForwardConflictPolicy = .park, connectivity: any Connectivity = AlwaysOnline(),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.concurrency = max(1, concurrency)
    self.retry = retry
    self.longestDelay = longestDelay
    self.leaseDuration = max(.seconds(1), leaseDuration)
    self.lookahead = max(0, lookahead)
    self.conflictPolicy = conflictPolicy
    self.connectivity = connectivity
    self.clock = clock
  }
}
