public import CoherenceActions
public import Foundation

/// An event of a ``PersistedActionWorker``.
public enum PersistedActionEvent: Sendable, Hashable {
  /// An attempt has started; the first is 1.
  case started(PersistedActionHandle, attempt: Int)
  /// The action has reported progress.
  case progressed(PersistedActionHandle, completed: Int64, total: Int64)
  /// An attempt has failed, and another one follows from a date on. The text has no values of records.
  case willRetry(PersistedActionHandle, attempt: Int, error: String, date: Date)
  /// The action runs again from a date on, without a failure: it was postponed or handed back, or its schedule goes on.
  case rescheduled(PersistedActionHandle, date: Date)
  /// The action has finished, and the store has its state. The text of a failure has no values of records.
  case finished(PersistedActionHandle, PersistedActionState, error: String?)
  /// The action of a worker without a sign of life waits again, or is parked when its attempts are used up.
  case rescued(PersistedActionHandle)
  /// Another worker has taken the action over from this worker. Nothing of this worker's attempt was saved.
  case leaseLost(PersistedActionHandle)
}

/// The events of the worker of a Connect are in the stream of the Connect's events too.
extension PersistedActionEvent: ConnectWorkEvent {
  public var workName: String {
    switch self {
    case .started: "persistedAction.started"
    case .progressed: "persistedAction.progressed"
    case .willRetry: "persistedAction.willRetry"
    case .rescheduled: "persistedAction.rescheduled"
    case .finished: "persistedAction.finished"
    case .rescued: "persistedAction.rescued"
    case .leaseLost: "persistedAction.leaseLost"
    }
  }

  /// The name of the action.
  public var workSubject: String? {
    switch self {
    case .started(let handle, attempt: _), .progressed(let handle, completed: _, total: _),
      .willRetry(let handle, attempt: _, error: _, date: _), .rescheduled(let handle, date: _),
      .finished(let handle, _, error: _), .rescued(let handle), .leaseLost(let handle):
      handle.name
    }
  }
}

/// The counts of a ``PersistedActionWorker`` since it was made.
public struct PersistedActionStatistics: Sendable, Hashable {
  /// The number of looks at the store for due, scheduled and abandoned actions. An idle worker does not look.
  public internal(set) var looks = 0
  /// The number of transactions that claimed actions.
  public internal(set) var claims = 0
  /// The number of claimed actions.
  public internal(set) var claimedActions = 0
  /// The number of attempts that have started.
  public internal(set) var attempts = 0
  /// The number of transactions that saved the ends of attempts.
  public internal(set) var saves = 0
  /// The number of signs of life.
  public internal(set) var beats = 0
}
