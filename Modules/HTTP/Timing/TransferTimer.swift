import Synchronization

/// The time limit of a request. The timer is paused while the request waits in the queue of a client.
final class TransferTimer: Sendable {
  /// The timers of the request that the task sends: one for each of the nested time limits.
  @TaskLocal static var running: [TransferTimer] = []

  private let clock: any HTTPClock
  private let state: Mutex<State>

  private struct State {
    /// The time until the expiry, counted from the beginning of the present wait.
    var remaining: Duration
    /// The number of running calls of `paused`. The timer runs while the number is zero.
    var pauses = 0
    var isStopped = false
    var isExpired = false
    var onExpiry: (@Sendable () -> Void)?
    /// The task that waits for the remaining time; `nil` while the timer is paused.
    var wait: Task<Void, Never>?
    /// The start of the present wait, by the monotonic time of the clock.
    var beginning: Duration?
    /// The number of the present wait. An earlier wait may expire in spite of its cancellation, and is ignored by its
    /// number.
    var number = 0
  }

  init(_ limit: Duration, _ clock: any HTTPClock) {
    self.clock = clock
    state = Mutex(State(remaining: limit))
  }

  /// Runs an operation with the timers of the task paused: the wait of a request for its admission.
  static func paused<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Result
  ) async rethrows -> Result {
    let timers = running
    for timer in timers { timer.pause() }
    defer { for timer in timers { timer.resume() } }
    return try await operation()
  }

  /// Starts the timer.
  func start() { state.withLock { beginWait(&$0) } }

  /// Stops the timer, which does not expire any more.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.onExpiry = nil
      endWait(&state)
    }
  }

  /// Sets the function to call at the expiry, in place of an earlier function. After the expiry, calls the function at
  /// once.
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

  /// Has a task wait for the remaining time, unless the timer has ended or is paused. Called with the lock.
  private func beginWait(_ state: inout State) {
    guard !state.isStopped, !state.isExpired, state.pauses == 0 else { return }
    state.beginning = clock.monotonicTime
    let (remaining, number) = (state.remaining, state.number)
    state.wait = Task { [self] in
      do { try await clock.wait(for: remaining) } catch { return }
      expire(number)
    }
  }

  /// Cancels the present wait, and subtracts its time from the remaining time. Called with the lock.
  private func endWait(_ state: inout State) {
    state.wait?.cancel()
    state.wait = nil
    state.number += 1
    guard let beginning = state.beginning else { return }
    state.beginning = nil
    // The time of a user's clock may follow a wall clock, which may have been set back.
    let elapsed = max(clock.monotonicTime - beginning, .zero)
    state.remaining = max(state.remaining - elapsed, .zero)
  }

  /// Ends the timer, and calls the function of the expiry without the lock, unless the wait of the number has been
  /// replaced.
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
