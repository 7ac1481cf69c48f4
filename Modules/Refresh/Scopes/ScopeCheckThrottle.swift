import Foundation
import Synchronization

/// Decides whether a fetch has to check the status of the scope. The decision reads no store, because each fetch makes
/// it on its own thread.
final class ScopeCheckThrottle: Sendable {
  private struct State {
    /// The date before which fetches need no check.
    var nextCheck: Date?
    /// The time of the last check. If the present time is earlier, the clock was set back, and ``nextCheck`` is not
    /// valid.
    var lastCheck: Date?
    /// The ``RefreshStack/storeChangeCount`` of the last check. If the present count is another one, ``nextCheck`` may
    /// be of a status in another store.
    var storeChangeCount: Int?
    /// Whether a check runs, so that other fetches need none.
    var isChecking = false
  }

  private let state = Mutex(State())

  /// Begins a check if it is due and no other check runs. Returns whether the caller has to check the status.
  func beginCheck(at now: Date, storeChangeCount: Int) -> Bool {
    state.withLock { state in
      guard !state.isChecking else { return false }
      if state.storeChangeCount == storeChangeCount, let nextCheck = state.nextCheck, now < nextCheck,
        state.lastCheck.map({ $0 <= now }) ?? true
      {
        return false
      }
      state.isChecking = true
      return true
    }
  }

  /// Ends a check.
  ///
  /// - Parameters:
  ///   - nextCheck: The date before which fetches need no check; `nil` if the next fetch needs a check.
  ///   - storeChangeCount: The count before the status was read.
  func endCheck(nextCheck: Date?, at now: Date, storeChangeCount: Int) {
    state.withLock { $0 = State(nextCheck: nextCheck, lastCheck: now, storeChangeCount: storeChangeCount) }
  }
}
