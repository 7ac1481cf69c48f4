import CoherenceRefresh
import Foundation
import Synchronization

/// A manual wall clock, which only the test sets.
final class RefreshTestClock: RefreshClock {
  private struct Sleeper {
    let id: Int
    let end: Date
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Date(timeIntervalSince1970: 1_800_000_000)
    var next = 0
    var sleepers: [Sleeper] = []
    var canceled: Set<Int> = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    mutating func takeWatchers() -> [CheckedContinuation<Void, Never>] {
      let ready = watchers.filter { $0.count <= sleepers.count }
      watchers.removeAll { $0.count <= sleepers.count }
      return ready.map(\.continuation)
    }
  }

  private let state = Mutex(State())

  var now: Date { state.withLock { $0.now } }
  /// The dates for which tasks wait.
  var dates: [Date] { state.withLock { $0.sleepers.map(\.end) } }

  /// Advances the clock, and wakes the tasks whose dates are reached.
  func advance(by seconds: Double) {
    let woken = state.withLock { state in
      state.now += seconds
      let woken = state.sleepers.filter { $0.end <= state.now }
      state.sleepers.removeAll { $0.end <= state.now }
      return woken
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  /// Sets the clock forward like a user, without passing time. Waiting tasks continue to wait.
  func setForward(by seconds: Double) {
    state.withLock { state in
      state.now += seconds
      state.sleepers = state.sleepers.map { Sleeper(id: $0.id, end: $0.end + seconds, continuation: $0.continuation) }
    }
  }

  /// Sets the clock back. Waiting tasks continue to wait.
  func setBack(by seconds: Double) { state.withLock { $0.now -= seconds } }

  /// Waits until a number of tasks wait on this clock.
  func untilWaiting(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Waits for the whole date in one step instead of minute by minute, so that ``dates`` has the date.
  func wait(until date: Date) async throws { try await wait(for: .seconds(max(date.timeIntervalSince(now), 0))) }

  func wait(for duration: Duration) async throws {
    let (id, end) = state.withLock { state in
      state.next += 1
      return (state.next, state.now + duration / .seconds(1))
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in enter(id, end, continuation) }
    } onCancel: {
      leave(id)
    }
  }

  private func enter(_ id: Int, _ end: Date, _ continuation: CheckedContinuation<Void, any Error>) {
    let (result, watchers) = state.withLock { state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
      if state.canceled.remove(id) != nil { return (.failure(CancellationError()), []) }
      if end <= state.now { return (.success(()), []) }
      state.sleepers.append(Sleeper(id: id, end: end, continuation: continuation))
      return (nil, state.takeWatchers())
    }
    if let result { continuation.resume(with: result) }
    for watcher in watchers { watcher.resume() }
  }

  private func leave(_ id: Int) {
    let sleeper = state.withLock { state in
      guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
        state.canceled.insert(id)
        return nil as Sleeper?
      }
      return state.sleepers.remove(at: index)
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }
}

/// A clock with the default implementation of waiting for a date.
struct PlainRefreshClock: RefreshClock {
  let base: RefreshTestClock
  var now: Date { base.now }
  func wait(for duration: Duration) async throws { try await base.wait(for: duration) }
}
