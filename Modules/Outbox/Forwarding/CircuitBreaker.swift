import CoherenceCore
import Foundation

/// Holds the edits of a forwarder back while the server is unavailable: the circuit breaker of Michael T. Nygard,
/// "Release It!", 2007.
///
/// The breaker is closed at first. An attempt that finds the server unavailable opens the breaker for the delay of the
/// retry policy. Afterwards one edit is sent as a probe: a reply closes the breaker, and another failure prolongs the
/// delay. A request that was sent before the breaker opened or closed neither closes the breaker nor opens it again,
/// because its result says nothing about the present state of the server.
///
/// An edit whose requests always fail as if the server were unavailable must not hold the others back forever. After
/// the last attempt of the policy, other edits are the probes. And when the server has replied to another edit since,
/// further failures of the edit do not open the breaker.
struct CircuitBreaker: Sendable {
  /// The ready edits that a search may claim.
  enum Admission: Sendable {
    /// All edits.
    case all
    /// The first edit in the order of the entries; an edit of ``CircuitBreaker/exhausted`` only if all edits are.
    case probe
    /// The edits that the user has retried since their last attempt.
    case retries
  }

  /// The number of consecutive failures: the failure that opened the breaker, and the failures of probes. Zero while
  /// the breaker is closed.
  private(set) var failureCount = 0
  /// The edits that wait for the server after the last attempt of the policy, by their first entries. A flush does not
  /// wait for the server while such an edit exists.
  private(set) var exhausted: Set<ManagedObjectID> = []
  /// The edits that became due when the breaker closed or the network came back, with the ends of their delays in the
  /// store.
  private(set) var overdue: [ManagedObjectID: Date] = [:]
  /// The edits that have found the server unavailable, with the ends of their delays in the store.
  private var delayed: [ManagedObjectID: Date] = [:]
  /// The edits that have found the server unavailable, and without a reply since another edit closed the breaker. Their
  /// further failures may be due to themselves.
  private var suspects: Set<ManagedObjectID> = []
  /// The edit that is sent as a probe, by its first entry.
  private var probe: ManagedObjectID?
  /// The edits that were being sent when the breaker opened or closed.
  private var sentBeforeChange: Set<ManagedObjectID> = []
  /// The end of the present or last delay; ``OutboxEntryRecord/atOnce`` without a delay.
  private var end = OutboxEntryRecord.atOnce
  /// The end of the delay that the server has asked for.
  private var advisedEnd = OutboxEntryRecord.atOnce

  var isClosed: Bool { failureCount == 0 }

  /// The end of the present delay; `nil` when no delay lasts.
  ///
  /// - Parameter longestDelay: The longest possible delay. A later end was set before the clock was set back, and is
  ///   ignored.
  func delayEnd(at now: Date, longestDelay: Duration) -> Date? {
    Self.lastingEnd(end, at: now, longestDelay)
  }

  /// Returns the end of a delay that lasts; `nil` for a past end, and for an end beyond the longest delay.
  private static func lastingEnd(_ end: Date, at now: Date, _ longestDelay: Duration) -> Date? {
    end > now && end <= now.addingTimeInterval(longestDelay / .seconds(1)) ? end : nil
  }

  /// The edits that a search may claim.
  ///
  /// - Parameters:
  ///   - isDelayed: Whether the present delay lasts.
  ///   - isClaimed: Returns whether the forwarder has claimed an edit. A probe whose claim was released is replaced.
  func admission(isDelayed: Bool, isClaimed: (ManagedObjectID) -> Bool) -> Admission {
    if isClosed { return .all }
    let isProbing = probe.map(isClaimed) ?? false
    return isDelayed || isProbing ? .retries : .probe
  }

  /// The number of consecutive failures after a failure of an edit.
  func failureCountAfterFailure(of head: ManagedObjectID) -> Int { probe == head ? failureCount + 1 : failureCount }

  // MARK: Results

  /// Notes the claim of a probe; `nil` when no edit is ready.
  mutating func begin(probe head: ManagedObjectID?) { probe = head }

  /// Notes that an edit has found the server unavailable.
  ///
  /// - Parameters:
  ///   - sent: The other edits that are being sent.
  ///   - longestDelay: As for ``delayEnd(at:longestDelay:)``.
  /// - Returns: Whether edits are held back.
  mutating func noteOutage(
    _ outage: ForwardOutage, of head: ManagedObjectID, besides sent: Set<ManagedObjectID>, at now: Date,
    longestDelay: Duration
  ) -> Bool {
    let wasSentBeforeChange = sentBeforeChange.remove(head) != nil
    if isClosed {
      if wasSentBeforeChange { return false }
      if suspects.contains(head) {
        if outage.isAfterLastAttempt { exhausted.insert(head) }
        return false
      }
      failureCount = 1
      sentBeforeChange = sent
    } else {
      failureCount = failureCountAfterFailure(of: head)
    }
    if probe == head { probe = nil }
    end = max(Self.lastingEnd(end, at: now, longestDelay) ?? outage.delay.end, outage.delay.end)
    advisedEnd = max(Self.lastingEnd(advisedEnd, at: now, longestDelay) ?? outage.advisedEnd, outage.advisedEnd)
    delayed[head] = outage.delay.end
    if outage.isAfterLastAttempt { exhausted.insert(head) } else { exhausted.remove(head) }
    return true
  }

  /// Notes that an attempt did not find the server unavailable.
  ///
  /// - Parameter sent: The other edits that are being sent. Computed only when the breaker closes, because most replies
  ///   change nothing.
  /// - Returns: Whether the breaker was open and closes.
  mutating func noteReply(
    to head: ManagedObjectID, besides sent: @autoclosure () -> Set<ManagedObjectID>
  ) -> Bool {
    suspects.remove(head)
    exhausted.remove(head)
    guard sentBeforeChange.remove(head) == nil, !isClosed else { return false }
    failureCount = 0
    probe = nil
    (end, advisedEnd) = (OutboxEntryRecord.atOnce, OutboxEntryRecord.atOnce)
    sentBeforeChange.formUnion(sent())
    suspects.formUnion(delayed.keys)
    suspects.remove(head)
    overdue.merge(delayed) { _, new in new }
    delayed = [:]
    exhausted = []
    return true
  }

  /// Notes the end of an attempt that says nothing about the server, because the network was offline or the attempt was
  /// cancelled.
  mutating func noteEnd(of head: ManagedObjectID) {
    sentBeforeChange.remove(head)
    if probe == head { probe = nil }
  }

  /// Ends the delay and the delays of the edits that wait for the server, except for a delay that the server has asked
  /// for: the network is online again, or the user wants to know whether the server is available.
  ///
  /// - Parameter longestDelay: As for ``delayEnd(at:longestDelay:)``.
  mutating func endDelay(at now: Date, longestDelay: Duration) {
    end = advisedEnd
    if Self.lastingEnd(advisedEnd, at: now, longestDelay) == nil { overdue.merge(delayed) { _, new in new } }
  }

  /// Forgets the edits that do not wait for an attempt any more, because they were dropped, merged or parked.
  mutating func retain(exhausted waiting: Set<ManagedObjectID>) { exhausted = waiting }

  /// Forgets the overdue edits whose delays were removed from the store.
  ///
  /// - Parameter delayed: The edits whose delays other writers have kept from being removed.
  mutating func keepOverdue(_ delayed: [ManagedObjectID: Date]) { overdue = delayed }
}
