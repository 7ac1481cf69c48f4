import Foundation
import Synchronization

/// The time that a request has. It stands still while the request waits in the queue of a client.
final class TransferTimer: Sendable {
  /// The timers of the request that the task sends: one for each limit around another.
  @TaskLocal static var running: [TransferTimer] = []

  private let clock: any HTTPClock
  private let state: Mutex<State>

  private struct State {
    var remaining: Duration
    var pauses = 0
    var isStopped = false
    var isExpired = false
    var onExpiry: (@Sendable () -> Void)?
    var wait: Task<Void, Never>?
    /// When the wait began.
    var beginning: Date?
    /// The number of the wait. An earlier one that ends late says nothing.
    var number = 0
  }

  init(_ limit: Duration, _ clock: any HTTPClock) {
    self.clock = clock
    state = Mutex(State(remaining: limit))
  }

  /// Runs an operation whose time does not count for the timers of the task.
  static func paused<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Result
  ) async rethrows -> Result {
    let timers = running
    for timer in timers { timer.pause() }
    defer { for timer in timers { timer.resume() } }
    return try await operation()
  }

  /// Lets the time run.
  func start() { state.withLock { beginWait(&$0) } }

  /// Ends the timer; it does not expire any more.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.onExpiry = nil
      endWait(&state)
    }
  }

  /// Calls the function when the time is over, in place of the one that was given before; at once when it is over.
  func whenExpired(_ function: @escaping @Sendable () -> Void) {
    let isExpired = state.withLock { state in
      if !state.isExpired { state.onExpiry = function }
      return state.isExpired
    }
    if isExpired { function() }
  }

  private func pause() {
    state.withLock { state in
      if state.pauses == 0 { endWait(&state) }
      state.pauses += 1
    }
  }

  private func resume() {
    state.withLock { state in
      state.pauses -= 1
      if state.pauses == 0 { beginWait(&state) }
    }
  }

  private func beginWait(_ state: inout State) {
    guard !state.isStopped, !state.isExpired, state.pauses == 0 else { return }
    state.beginning = clock.now
    let (remaining, number) = (state.remaining, state.number)
    state.wait = Task { [self] in
      do { try await clock.wait(for: remaining) } catch { return }
      expire(number)
    }
  }

  private func endWait(_ state: inout State) {
    state.wait?.cancel()
    state.wait = nil
    state.number += 1
    guard let beginning = state.beginning else { return }
    state.beginning = nil
    // The wall clock may have been set back.
    let elapsed = max(clock.now.timeIntervalSince(beginning), 0)
    state.remaining = max(state.remaining - .seconds(elapsed), .zero)
  }

  private func expire(_ number: Int) {
    let onExpiry: (@Sendable () -> Void)? = state.withLock { state in
      guard number == state.number, !state.isStopped else { return nil }
      state.isExpired = true
      state.wait = nil
      defer { state.onExpiry = nil }
      return state.onExpiry
    }
    onExpiry?()
  }
}
