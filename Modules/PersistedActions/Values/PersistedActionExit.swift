public import CoherenceCore
public import Foundation

/// An error with which an action ends its attempt and chooses the next step. A cancelled action is cancelled instead,
/// and an action that a stopping worker hands back waits for other workers instead.
public enum PersistedActionExit: LoggableError {
  /// The attempt has failed, and the next attempt follows after a delay, such as the delay in a server's reply; a delay
  /// of more than a century counts as a century. After its last attempt the action is parked instead.
  case retry(after: Duration)
  /// The action runs again at a date. The present attempt does not count.
  case postpone(until: Date)
  /// The action is parked at once, with a sentence for its ``PersistedActionInfo/failures``.
  case park(String)

  public var logDescription: String {
    switch self {
    case .retry(let delay): "The action asked for another attempt after \(delay)."
    case .postpone: "The action asked to run later."
    case .park(let reason): reason
    }
  }
}
