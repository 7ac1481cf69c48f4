import Foundation
import Synchronization

/// Decides whether the scope's data may be stale. Costs no read of the store, because each fetch asks on its own
/// thread.
final class ScopeWatch: Sendable {
  private struct State {
    /// The date until which fetches need no check.
    var quietUntil: Date?
    /// The time of the last check. If the present time is earlier, the clock was set back, and `quietUntil` is not
    /// valid.
    var checked: Date?
    var isChecking = false
  }

  private let state = Mutex(State())

  /// Begins a check if it is due and no other check runs. Returns whether the caller has to check the status.
  func beginCheck(at now: Date) -> Bool {
    state.withLock { state in
      guard !state.isChecking else { return false }
      if let quietUntil = state.quietUntil, now < quietUntil, state.checked.map({ $0 <= now }) ?? true { return false }
      state.isChecking = true
      return true
    }
  }

  /// Ends a check.
  ///
  /// - Parameter quietUntil: The date before which fetches need no check; `nil` if the next fetch needs a check.
  func endCheck(quietUntil: Date?, at now: Date) {
    state.withLock { $0 = State(quietUntil: quietUntil, checked: now) }
  }
}
