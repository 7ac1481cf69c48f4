import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization

/// The settings and services that all scopes of a refresher share.
final class RefreshStack: Sendable {
  let connect: any Connect & ActionManager
  let connectivity: any Connectivity
  let table: StatusTable
  let options: RefreshOptions
  let events = Broadcast<RefreshEvent>()
  private let enabled = Atomic<Bool>(true)
  private let generator: Mutex<any RandomNumberGenerator & Sendable>

  /// - Throws: ``ErrorCode/invalidModel`` for a model without the entity of the statuses.
  init(
    _ connect: any Connect & ActionManager, connectivity: any Connectivity, options: RefreshOptions
  ) throws {
    self.connect = connect
    self.connectivity = connectivity
    self.options = options
    table = try StatusTable(connect.persistentStoreCoordinator)
    generator = Mutex(options.generator)
  }

  deinit { events.finish() }

  var isEnabled: Bool {
    get { enabled.load(ordering: .acquiring) }
    set { enabled.store(newValue, ordering: .releasing) }
  }

  var now: Date { options.clock.now }

  /// A number that changes when a store is attached or detached: the status of a scope may be in another store then.
  var storeChangeCount: Int { connect.persistentStoreCoordinator.storeChangeCount }

  func send(_ event: RefreshEvent) {
    events.send { event }
    (connect as? any WorkEventPublishing)?.publish { event }
  }

  /// Whether automatic attempts may begin.
  var allowsAttempts: Bool { isEnabled && connectivity.isOnline }

  /// Reports a failed attempt to the connectivity, if the server was unavailable. An offline state needs no report.
  func noteFailure(_ error: any Error) {
    if connectivity.isOnline, RetryPolicy.isServiceUnavailable(error) { connectivity.noteFailure() }
  }

  /// The length of a lease: the time limit of an attempt, and 30 seconds for saving its end. Limited, because no store
  /// can keep the end of a lease of `.seconds(Int64.max)`.
  func leaseLength(_ registration: RefreshRegistration) -> Duration {
    registration.timeLimit.limitedForSleep + .seconds(30)
  }

  /// The longest delay after a failure, limited like ``leaseLength(_:)``. A status whose delay ends later was saved
  /// before the clock was set back.
  var longestDelay: Duration { max(options.backoff.maximumDelay.limitedForSleep, .seconds(1)) }

  /// Returns the delay after a number of failures, at least a second. The last error may ask for a longer delay, up to
  /// ``longestDelay``.
  func retryDelay(afterFailures count: Int, of error: (any Error)? = nil) -> Duration {
    let advised = error.flatMap { RetryPolicy.advisedDelay(of: $0, at: now) } ?? .zero
    let delay = generator.withLock { options.backoff.delay(afterAttempt: count, using: &$0) }
    return min(max(delay, advised, .seconds(1)), longestDelay)
  }

  /// Returns the next date of a schedule, including its random delay.
  func nextDate(of schedule: Schedule, after date: Date) -> Date? {
    generator.withLock { schedule.nextDate(after: date, using: &$0) }
  }
}
