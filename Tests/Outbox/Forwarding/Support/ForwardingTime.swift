import Foundation
import Synchronization

/// The clock and the date of a test: both stand still until the test advances them.
final class ForwardingTime: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset = Duration.zero
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  private struct Sleeper {
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Instant()
    /// The part of the date that does not come from the clock.
    var date = Date(timeIntervalSince1970: 1_700_000_000)
    var nextID = 0
    var sleepers: [Int: Sleeper] = [:]
    var canceled: Set<Int> = []
    var watchers: [(Duration, CheckedContinuation<Void, Never>)] = []

    /// Takes the watchers of sleepers that exist now.
    mutating func takeWatchers() -> [CheckedContinuation<Void, Never>] {
      let isReady: ((Duration, CheckedContinuation<Void, Never>)) -> Bool = { [now, sleepers] watcher in
        sleepers.values.contains { now.duration(to: $0.deadline) == watcher.0 }
      }
      defer { watchers.removeAll(where: isReady) }
      return watchers.filter(isReady).map(\.1)
    }
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .zero }
  var date: Date { state.withLock { $0.date } }
  /// The number of tasks that sleep.
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Advances clock and date, and wakes the sleepers whose time has come.
  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      state.date.addTimeInterval(duration / .seconds(1))
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }

  /// Sets the date forward or back, as a user does. The clock does not follow.
  func setDate(by duration: Duration) {
    state.withLock { $0.date.addTimeInterval(duration / .seconds(1)) }
  }

  /// Waits until a task sleeps for exactly the duration from now on.
  func untilSleeping(for duration: Duration) async {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state in
        state.watchers.append((duration, continuation))
        return state.takeWatchers()
      }
      for watcher in ready { watcher.resume() }
    }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in enter(id, deadline, continuation) }
    } onCancel: {
      leave(id)
    }
  }

  private func enter(_ id: Int, _ deadline: Instant, _ continuation: CheckedContinuation<Void, any Error>) {
    let (result, watchers) = state.withLock { state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
      if state.canceled.remove(id) != nil { return (.failure(CancellationError()), []) }
      if deadline <= state.now { return (.success(()), []) }
      state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
      return (nil, state.takeWatchers())
    }
    if let result { continuation.resume(with: result) }
    for watcher in watchers { watcher.resume() }
  }

  private func leave(_ id: Int) {
    let sleeper = state.withLock { state -> Sleeper? in
      if let sleeper = state.sleepers.removeValue(forKey: id) { return sleeper }
      state.canceled.insert(id)
      return nil
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }
}
