public import CoherenceCore
public import Foundation

/// An error by which an action decides what follows its attempt.
public enum PersistedActionExit: LoggableError {
  /// The attempt has failed, and the next one follows after a delay, such as the delay that a server asks for. Parks the
  /// action when its attempts are used up.
  case retry(after: Duration)
  /// The action runs again from a date on. The attempt does not count.
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
