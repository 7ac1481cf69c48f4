public import CoherenceActions
public import CoherenceCore

/// The limits, the clock and the policies of forwarding. A number below its minimum counts as the minimum, and a number
/// above its maximum as the maximum.
public struct ForwardOptions: Sendable {
  /// The maximum number of handler calls at the same time; at least one, and at most 1,048,576. Edits of one record
  /// are always sent one after the other.
  public var concurrency: Int {
    didSet { concurrency = Self.limited(concurrency, from: 1) }
  }
  /// The number of attempts of an edit, and the delays between them. The edit is parked after the last attempt, and
  /// after an error that another attempt cannot remove, see `RetryPolicy`. An error with the trait ``RetryAdvising``
  /// sets the shortest delay.
  ///
  /// Attempts that fail while the ``connectivity`` is offline do not count, except for the first attempt of an edit. An
  /// edit is not parked because the server is unavailable, see `RetryPolicy.isServiceUnavailable(_:)`: further attempts
  /// follow the last one, with its delay.
  ///
  /// An unavailable server gets one request for each delay, however many edits wait: after a failure that the policy
  /// retries, the outbox holds all other edits back, without an attempt, until the delay has passed. Then it sends one
  /// edit: the first one, or after its last attempt another one. When the server replies, all edits follow at once;
  /// another failure prolongs the delay. Once the server has replied to another edit, further failures of an edit hold
  /// no other edit back. An edit that the user retries is sent at once, see ``Outbox/retry(_:)``. After a change of
  /// ``connectivity`` from offline to online, one edit is sent before the end of the delay, unless the server has asked
  /// for the delay.
  public var retry: RetryPolicy
  /// The longest delay before an attempt: a longer delay of ``retry`` or of the server is shortened to it. An entry
  /// whose next attempt is further in the future is due at once, because the system's clock was set back.
  public var longestDelay: Duration
  /// The time after which another forwarder takes over the edits of a crashed forwarder; from a second to a day. A
  /// running forwarder renews its leases at a third of this time.
  ///
  /// All programs with one store should use the same time. A lease counts as expired if its end is further away than
  /// this time and a minute, and than ``longestDelay``, because the system's clock was set back.
  public var leaseDuration: Duration {
    didSet { leaseDuration = Self.limited(leaseDuration) }
  }
  /// The number of handler calls whose edits are claimed before a call can start, so that the next call follows the end
  /// of a running call without a search. Later changes of these records wait behind the claimed edits. At most
  /// 1,048,576.
  public var lookahead: Int {
    didSet { lookahead = Self.limited(lookahead, from: 0) }
  }
  /// The decision about an edit after the server has reported a conflict.
  public var conflictPolicy: ForwardConflictPolicy
  /// The state of the network. The outbox sends nothing while the network is offline, and reports to the connectivity
  /// each failure by which it finds the server unavailable.
  public var connectivity: any Connectivity
  /// The clock of delays and of the renewal of leases. Tests use a manual clock to avoid waiting. The dates of next
  /// attempts and leases come from ``OutboxOptions/now``.
  public var clock: any Clock<Duration>

  /// Makes options.
  public init(
    concurrency: Int = 4, retry: RetryPolicy = RetryPolicy(attempts: 8, maximumDelay: .seconds(300)),
    longestDelay: Duration = .seconds(3600), leaseDuration: Duration = .seconds(60), lookahead: Int = 60,
    conflictPolicy: ForwardConflictPolicy = .park, connectivity: any Connectivity = AlwaysOnline(),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.concurrency = Self.limited(concurrency, from: 1)
    self.retry = retry
    self.longestDelay = longestDelay
    self.leaseDuration = Self.limited(leaseDuration)
    self.lookahead = Self.limited(lookahead, from: 0)
    self.conflictPolicy = conflictPolicy
    self.connectivity = connectivity
    self.clock = clock
  }

  private static func limited(_ count: Int, from least: Int) -> Int { min(max(least, count), 1 << 20) }

  private static func limited(_ leaseDuration: Duration) -> Duration {
    min(max(.seconds(1), leaseDuration), .seconds(86_400))
  }

  /// The longest time until the end of a lease, for clocks of several machines that differ by a minute. A later end was
  /// written before the clock was set back.
  var longestLease: Duration { max(longestDelay, leaseDuration + .seconds(60)) }
}
