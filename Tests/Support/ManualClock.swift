package import Foundation
import Synchronization

/// A manual clock and date, which only the test advances.
package final class ManualClock: Clock, Sendable {
  package struct Instant: InstantProtocol {
    package var offset = Duration.zero

    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  private struct Sleeper {
    let id: Int
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  /// A call of the test that waits until tasks sleep.
  private struct Watcher {
    let isSatisfied: @Sendable (_ rests: [Duration]) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var now = Instant()
    var date: Date
    var nextID = 0
    var sleepers: [Sleeper] = []
    var canceled: Set<Int> = []
    var watchers: [Watcher] = []

    /// The remaining durations of all sleeping tasks.
    var rests: [Duration] { sleepers.map { now.duration(to: $0.deadline) } }

    mutating func takeSatisfiedWatchers() -> [Watcher] {
      let rests = rests
      defer { watchers.removeAll { $0.isSatisfied(rests) } }
      return watchers.filter { $0.isSatisfied(rests) }
    }
  }

  /// The initial date. It is later than the system's date, with which the framework dates new actions, so that these
  /// are due.
  package static let firstDate = Date(timeIntervalSince1970: 4_102_444_800)

  private let state: Mutex<State>

  package init(date: Date = ManualClock.firstDate) { state = Mutex(State(date: date)) }

  package var now: Instant { state.withLock { $0.now } }
  package var minimumResolution: Duration { .zero }

  /// The date. Setting the date, like a user does in the settings, does not advance the clock.
  package var date: Date {
    get { state.withLock { $0.date } }
    set { state.withLock { $0.date = newValue } }
  }

  /// The dates at which the sleeping tasks will wake, unless the test sets the date before.
  package var wakingDates: [Date] {
    state.withLock { state in state.rests.map { state.date + $0 / .seconds(1) } }
  }

  /// The number of tasks that sleep on this clock.
  package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Advances the clock and the date, and wakes the tasks whose deadlines are reached.
  package func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      state.date += duration / .seconds(1)
      defer { state.sleepers.removeAll { $0.deadline <= state.now } }
      return state.sleepers.filter { $0.deadline <= state.now }
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  /// Waits until at least a number of tasks sleep on this clock.
  package func untilSleeping(_ count: Int = 1) async { await watch { $0.count >= count } }

  /// Waits until a task sleeps for exactly the duration from now on.
  package func untilSleeping(for duration: Duration) async { await watch { $0.contains(duration) } }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws { try await wait(until: deadline) }

  /// Suspends the task until a test has advanced the clock that far. Throws when the task is cancelled.
  package func wait(until deadline: Instant) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enter(Sleeper(id: id, deadline: deadline, continuation: continuation))
      }
    } onCancel: {
      cancelSleep(id)
    }
  }

  private func watch(for isSatisfied: @escaping @Sendable ([Duration]) -> Bool) async {
    await withCheckedContinuation { continuation in
      let satisfied = state.withLock { state in
        state.watchers.append(Watcher(isSatisfied: isSatisfied, continuation: continuation))
        return state.takeSatisfiedWatchers()
      }
      for watcher in satisfied { watcher.continuation.resume() }
    }
  }

  private func enter(_ sleeper: Sleeper) {
    let (result, watchers) = state.withLock { state -> (Result<Void, any Error>?, [Watcher]) in
      if state.canceled.remove(sleeper.id) != nil { return (.failure(CancellationError()), []) }
      if sleeper.deadline <= state.now { return (.success(()), []) }
      state.sleepers.append(sleeper)
      return (nil, state.takeSatisfiedWatchers())
    }
    if let result { sleeper.continuation.resume(with: result) }
    for watcher in watchers { watcher.continuation.resume() }
  }

  /// Ends a sleep with an error. A task may be cancelled before its sleep begins, so the sleep then ends at its
  /// beginning.
  private func cancelSleep(_ id: Int) {
    let sleeper = state.withLock { state -> Sleeper? in
      guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
        state.canceled.insert(id)
        return nil
      }
      return state.sleepers.remove(at: index)
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }
}
