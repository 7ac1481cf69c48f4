import CoherencePersistedActions
import Foundation
import Synchronization

/// A manual clock and date, which only the test advances.
final class TestTime: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset = Duration.zero
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  private struct Sleeper {
    let id: Int
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Instant()
    var date = TestTime.firstDate
    var next = 0
    var sleepers: [Sleeper] = []
    var canceled: Set<Int> = []
    var watchers: [CheckedContinuation<Void, Never>] = []
  }

  /// The initial date. It is later than the system's date, with which `enqueue` dates actions, so that they are due.
  static let firstDate = Date(timeIntervalSince1970: 4_102_444_800)

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .zero }

  /// The date. A test may set it without advancing the clock.
  var date: Date {
    get { state.withLock { $0.date } }
    set { state.withLock { $0.date = newValue } }
  }

  /// This clock and date for the initializer of a worker.
  var workerClock: PersistedActionClock { PersistedActionClock(self) { self.date } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in enter(id, deadline, continuation) }
    } onCancel: {
      leave(id)
    }
  }

  /// Advances the clock and the date, and wakes the tasks whose deadlines are reached.
  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      state.date += duration / .seconds(1)
      let woken = state.sleepers.filter { $0.deadline <= state.now }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return woken
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  /// Whether a task sleeps on this clock.
  var hasSleeper: Bool { state.withLock { !$0.sleepers.isEmpty } }

  /// Waits until a task sleeps on this clock.
  func untilSleeping() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if !state.sleepers.isEmpty { return true }
        state.watchers.append(continuation)
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  private func enter(_ id: Int, _ deadline: Instant, _ continuation: CheckedContinuation<Void, any Error>) {
    var watchers: [CheckedContinuation<Void, Never>] = []
    let result = state.withLock { state -> Result<Void, any Error>? in
      if state.canceled.remove(id) != nil { return .failure(CancellationError()) }
      if deadline <= state.now { return .success(()) }
      state.sleepers.append(Sleeper(id: id, deadline: deadline, continuation: continuation))
      watchers = state.watchers
      state.watchers = []
      return nil
    }
    if let result { continuation.resume(with: result) }
    for watcher in watchers { watcher.resume() }
  }

  private func leave(_ id: Int) {
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
