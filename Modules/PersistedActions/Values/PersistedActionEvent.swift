public import CoherenceActions
public import Foundation

/// An event of a ``PersistedActionWorker``.
public enum PersistedActionEvent: Sendable, Hashable {
  /// An attempt has started; the number of the first attempt is 1.
  case started(PersistedActionHandle, attempt: Int)
  /// The action has reported progress.
  case progressed(PersistedActionHandle, completed: Int64, total: Int64)
  /// An attempt has failed, and the next attempt follows at the date. The text has no values of records.
  case willRetry(PersistedActionHandle, attempt: Int, error: String, date: Date)
  /// The action waits for the date without a failure: the action was postponed, or its worker has handed it back.
  case rescheduled(PersistedActionHandle, date: Date)
  /// The action has finished, and the store has saved its state, or deleted its record if the retention keeps no
  /// succeeded actions. The text of a failure has no values of records.
  case finished(PersistedActionHandle, PersistedActionState, error: String?)
  /// The action of a worker without heartbeats waits for another attempt.
  case rescued(PersistedActionHandle)
  /// Another worker has taken the action over from this worker. The end of this worker's attempt was not saved.
  case leaseLost(PersistedActionHandle)
}

/// The event stream of a `Connect` has the events of its workers too.
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
  /// The number of reads of the store for due actions and for the claims of stopped workers. A worker without scheduled
  /// actions, and without claims of other workers to observe, reads only after signals.
  public internal(set) var looks = 0
  /// The number of claims, each of one queue in one transaction. Claims that found no waiting action count too.
  public internal(set) var claims = 0
  /// The number of claimed actions.
  public internal(set) var claimedActions = 0
  /// The number of started attempts.
  public internal(set) var attempts = 0
  /// The number of transactions that saved groups of the ends of attempts. The single saves of a refused group, and the
  /// completions that actions commit themselves, do not count.
  public internal(set) var saves = 0
  /// The number of heartbeats while the worker had actions. The heartbeat of the start does not count.
  public internal(set) var beats = 0
}
