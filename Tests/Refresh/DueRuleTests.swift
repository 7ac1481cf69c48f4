import CoherenceActions
import CoherenceCore
import Foundation
import Testing

@testable import CoherenceRefresh

/// The decisions about attempts, from the status of a refresh alone.
@Suite("The rule of due refreshes")
struct DueRuleTests {
  private let now = Date(timeIntervalSinceReferenceDate: 1_000_000)

  /// A rule for data that is stale after 600 seconds, with leases of up to 330 and delays of up to 3600 seconds.
  private func decision(
    _ reason: RefreshReason, _ status: RefreshStatus?, schedule: Schedule? = nil, repeatedStart: Date? = nil,
    endedOwners: [UUID] = [], owner: UUID? = nil
  ) -> DueRule.Decision {
    DueRule(
      reason: reason, now: now, stalenessInterval: .seconds(600), schedule: schedule, longestLease: .seconds(330),
      longestDelay: .seconds(3600), repeatedStart: repeatedStart, endedOwners: endedOwners
    ).decide(status, leasedBy: owner)
  }

  /// A status with times in seconds from now.
  private func status(
    _ state: RefreshStatus.SyncStatus = .succeeded, success: Double? = 0, attempt: Double? = 0, next: Double? = nil,
    lease: Double? = nil
  ) -> RefreshStatus {
    RefreshStatus(
      name: "Song", type: .list, scope: nil, lastSyncError: nil, lastSyncStatus: state,
      lastSyncTime: success.map { now + $0 }, lastAttemptTime: attempt.map { now + $0 }, failureCount: 0,
      nextAttemptTime: next.map { now + $0 }, cursor: nil, leaseEnd: lease.map { now + $0 })
  }

  @Test(arguments: RefreshReason.allCases)
  func `a refresh without a status or without a success is due for every reason`(reason: RefreshReason) {
    #expect(decision(reason, nil) == .run)
    #expect(decision(reason, status(.never, success: nil)) == .run)
  }

  @Test(arguments: RefreshReason.allCases)
  func `a lease postpones every attempt to its end, unless no lease can be as long`(reason: RefreshReason) {
    for end in [0.001, 330, 390] {
      #expect(decision(reason, status(success: -6000, lease: end)) == .wait(until: now + end))
    }
    #expect(decision(reason, status(lease: 390.001)) == .run)
  }

  @Test(arguments: RefreshReason.allCases)
  func `the lease of an own attempt that has ended postpones none, and that of another does`(reason: RefreshReason) {
    let (ended, other) = (UUID(), UUID())
    let leased = status(lease: 100)
    #expect(decision(reason, leased, endedOwners: [other, ended], owner: ended) == .run)
    #expect(decision(reason, leased, endedOwners: [ended], owner: other) == .wait(until: now + 100))
    #expect(decision(reason, leased, endedOwners: [ended], owner: nil) == .wait(until: now + 100))
  }

  @Test(arguments: RefreshReason.allCases)
  func `an expired lease makes an attempt due, however fresh the data is`(reason: RefreshReason) {
    for end in [0.0, -1000] { #expect(decision(reason, status(lease: end)) == .run) }
    #expect(decision(reason, status(.failed, next: 100, lease: 0)) == .run)
  }

  @Test(arguments: [RefreshReason.start, .schedule, .staleFetch])
  func `a failure postpones attempts to the next date, unless no delay can be as long`(reason: RefreshReason) {
    for next in [0.001, 3600, 3660] {
      #expect(decision(reason, status(.failed, success: -6000, next: next)) == .wait(until: now + next))
    }
    for next in [0, -1, 3660.001] { #expect(decision(reason, status(.failed, next: next)) == .run) }
    #expect(decision(reason, status(.failed, next: nil)) == .run)
  }

  @Test(arguments: [RefreshReason.online, .request])
  func `a call and a regained connection wait for no delay after a failure`(reason: RefreshReason) {
    #expect(decision(reason, status(.failed, next: 100)) == .run)
  }

  @Test(arguments: RefreshReason.allCases)
  func `data is stale after the interval, and data from the future beyond a difference of clocks`(reason: RefreshReason)
  {
    let isCall = reason == .request
    for time in [0, -599.999, 60] {
      #expect(decision(reason, status(success: time)) == (isCall ? .run : .wait(until: nil)), "\(time)")
    }
    for time in [-600, -6000, 60.001] { #expect(decision(reason, status(success: time)) == .run, "\(time)") }
  }

  @Test func `a schedule is due at its date after the last attempt, however stale the data is before`() {
    let schedule = Schedule.every(.seconds(300))
    for attempt in [-299.999, 0, 60] {
      let waiting = status(success: -6000, attempt: attempt)
      #expect(decision(.schedule, waiting, schedule: schedule) == .wait(until: nil), "\(attempt)")
      // Other reasons do not depend on the schedule.
      #expect(decision(.staleFetch, waiting, schedule: schedule) == .run)
    }
    for attempt in [-300, -6000, 60.001, nil] {
      let due = status(attempt: attempt)
      #expect(decision(.schedule, due, schedule: schedule) == .run, "\(attempt ?? .nan)")
      #expect(decision(.staleFetch, due, schedule: schedule) == .wait(until: nil))
    }
  }

  @Test func `a schedule without a further date is never due`() {
    let schedule = Schedule.at(now - 10)
    #expect(decision(.schedule, status(success: -6000), schedule: schedule) == .wait(until: nil))
    #expect(decision(.schedule, status(success: -6000, attempt: -11), schedule: schedule) == .run)
  }

  @Test(arguments: [RefreshReason.start, .schedule, .staleFetch, .online])
  func `a cancelled attempt is repeated unless a later attempt has succeeded`(reason: RefreshReason) {
    let start = now - 100
    for success in [-100.001, 60.001, nil] {
      #expect(decision(reason, status(success: success), repeatedStart: start) == .run, "\(success ?? .nan)")
    }
    for success in [-100.0, 0, 60] {
      #expect(decision(reason, status(success: success), repeatedStart: start) == .wait(until: nil), "\(success)")
    }
    #expect(decision(reason, status(.failed, success: -101, next: 50), repeatedStart: start) == .run)
    let leased = status(success: -101, lease: 50)
    #expect(decision(reason, leased, repeatedStart: start) == .wait(until: now + 50))
  }
}

/// The checks that fetches begin.
@Suite("The throttle of checks by fetches")
struct ScopeCheckThrottleTests {
  private let now = Date(timeIntervalSinceReferenceDate: 1_000_000)

  @Test func `a check begins once, and after its end no earlier than the date of the next check`() {
    let throttle = ScopeCheckThrottle()
    #expect(throttle.beginCheck(at: now, storeChangeCount: 1))
    #expect(!throttle.beginCheck(at: now, storeChangeCount: 1))
    #expect(!throttle.beginCheck(at: now + 1000, storeChangeCount: 2))
    throttle.endCheck(nextCheck: now + 100, at: now, storeChangeCount: 1)
    for second in [0, 99.999] { #expect(!throttle.beginCheck(at: now + second, storeChangeCount: 1)) }
    #expect(throttle.beginCheck(at: now + 100, storeChangeCount: 1))
  }

  @Test func `a check without a date for the next one, with another store or before the last check is due at once`() {
    let throttle = ScopeCheckThrottle()
    throttle.endCheck(nextCheck: nil, at: now, storeChangeCount: 1)
    #expect(throttle.beginCheck(at: now, storeChangeCount: 1))
    throttle.endCheck(nextCheck: now + 100, at: now, storeChangeCount: 1)
    #expect(throttle.beginCheck(at: now, storeChangeCount: 2))
    throttle.endCheck(nextCheck: now + 100, at: now, storeChangeCount: 2)
    #expect(throttle.beginCheck(at: now - 1, storeChangeCount: 2))
  }
}

@Suite("Saves of statuses")
struct StatusRetryTests {
  @Test(arguments: [ErrorCode.versionConflict, .recordVanished, .uniquenessViolated, .storeBusy])
  func `a save that meets another process's save is repeated up to the limit`(code: ErrorCode) {
    let error = CoherenceError(code, "Another process has saved.")
    #expect(error.isRetriedAtOnce(after: 1, of: 16) && error.isRetriedAtOnce(after: 15, of: 16))
    #expect(!error.isRetriedAtOnce(after: 16, of: 16))
  }

  @Test func `a save is made three times at most after another transient error, and once after a lasting one`() {
    let transient = CoherenceError(.inputOutput, "The disk is busy.", isRetryable: true)
    #expect(transient.isRetriedAtOnce(after: 2, of: 16) && !transient.isRetriedAtOnce(after: 3, of: 16))
    #expect(transient.isRetriedAtOnce(after: 1, of: 2) && !transient.isRetriedAtOnce(after: 2, of: 2))
    #expect(!CoherenceError(.inputOutput, "The disk is broken.").isRetriedAtOnce(after: 1, of: 16))
    let lost = CoherenceError(.connectionLost, "The reply was lost.", outcome: .unknown, isRetryable: true)
    #expect(!lost.isRetriedAtOnce(after: 1, of: 16))
  }
}
