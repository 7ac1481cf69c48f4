import CoherenceActions
import Foundation

/// Decides from a status whether an attempt may begin.
///
/// After the clock was set back, a status can have impossible dates: an attempt in the future, or the end of a lease or
/// delay that is later than the longest lease or delay allows. The rule ignores such dates. The clocks of several
/// processes may differ by a minute.
struct DueRule: Sendable {
  /// The accepted difference of clocks, in seconds.
  private static let clockDifference = 60.0

  /// The decision about an attempt.
  enum Decision: Equatable {
    case run
    /// No attempt may begin. `until` is the end of the lease or delay that prevents it; `nil` if no attempt is due: the
    /// data is not stale, or no date of the schedule has passed since the last attempt.
    case wait(until: Date?)
  }

  let reason: RefreshReason
  let now: Date
  let stalenessInterval: Duration
  let schedule: Schedule?
  let longestLease: Duration
  /// The longest delay after a failure.
  let longestDelay: Duration
  /// The beginning of the cancelled attempt that the attempt repeats; `nil` for no repetition. The cancelled attempt
  /// was due, and has left no result.
  var repeatedStart: Date?
  /// The identifiers of own attempts that have ended although a store may still have their leases.
  var endedOwners: [UUID] = []

  /// Decides whether an attempt may begin.
  ///
  /// - Parameters:
  ///   - status: The status of the scope; `nil` before the first attempt.
  ///   - owner: The identifier of the attempt with the lease; `nil` without a lease.
  func decide(_ status: RefreshStatus?, leasedBy owner: UUID?) -> Decision {
    guard let status else { return .run }
    let hasEnded = owner.map { endedOwners.contains($0) } ?? false
    if !hasEnded, let end = status.leaseEnd, end > now, end <= now + longestLease / .seconds(1) + Self.clockDifference {
      return .wait(until: end)
    }
    // An expired lease shows that the process of the last attempt has died, so another attempt is due. An own attempt
    // whose end was not saved is repeated too.
    if reason == .request || isRepetition(status) || status.leaseEnd != nil { return .run }
    if status.lastSyncStatus == .failed {
      // The failures were probably caused by the connection, which works again.
      if reason == .online { return .run }
      guard let next = status.nextAttemptTime, next > now,
        next <= now + longestDelay / .seconds(1) + Self.clockDifference
      else { return .run }
      return .wait(until: next)
    }
    if reason == .schedule, isScheduled(status) || schedule == nil && isStale(status) { return .run }
    if reason != .schedule, isStale(status) { return .run }
    return .wait(until: nil)
  }

  /// Whether the attempt repeats a cancelled one, and no other process has refreshed the data since.
  private func isRepetition(_ status: RefreshStatus) -> Bool {
    guard let repeatedStart else { return false }
    guard let time = status.lastSyncTime, time <= now + Self.clockDifference else { return true }
    return time < repeatedStart
  }

  /// Whether the last success is older than the staleness interval, or in the future, or missing.
  func isStale(_ status: RefreshStatus) -> Bool {
    guard let time = status.lastSyncTime, time <= now + Self.clockDifference else { return true }
    return time + stalenessInterval / .seconds(1) <= now
  }

  /// Whether the scope has a schedule of which a date has passed since the last attempt. An attempt in the future and a
  /// missing attempt count as long ago.
  private func isScheduled(_ status: RefreshStatus) -> Bool {
    guard let schedule else { return false }
    guard let last = status.lastAttemptTime, last <= now + Self.clockDifference else { return true }
    return schedule.undelayedDate(after: last).map { $0 <= now } ?? false
  }
}
