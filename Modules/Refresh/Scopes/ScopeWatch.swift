import Foundation
import Synchronization

/// Decides on the thread of a fetch, without a store, whether the scope's data may be stale.
final class ScopeWatch: Sendable {
  private struct State {
    /// The date until which fetches need no check.
    var quietUntil: Date?
    /// The time of the last check. An earlier present means that the clock was set back.
    var checked: Date?
    var isChecking = false
  }

  private let state = Mutex(State())

  /// Begins a check, if a check is due and no other check is running.
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
  /// - Parameter quietUntil: The date until which fetches need no other check; `nil` for none.
  func endCheck(quietUntil: Date?, at now: Date) {
    state.withLock { $0 = State(quietUntil: quietUntil, checked: now) }
  }
}
