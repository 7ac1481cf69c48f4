public import CoherenceActions
import CoherenceCore

/// The subject of a refresh: an entity, a kind and a scope.
public struct RefreshTarget: Sendable, Hashable {
  /// The name of the entity.
  public let entityName: String
  /// The kind of the refresh.
  public let kind: RefreshStatus.Kind
  /// The scope; `nil` for all records of the entity. For a read, the key of the record.
  public let scope: String?

  init(_ name: StatusName) {
    entityName = name.entity.name
    kind = name.type
    scope = name.scope.isEmpty ? nil : name.scope
  }
}

/// An event of a ``Refresher``.
public enum RefreshEvent: Sendable {
  /// An attempt has started.
  case started(RefreshTarget, reason: RefreshReason)
  /// An attempt has succeeded, and the store has the status.
  case succeeded(RefreshTarget, RefreshStatus)
  /// An attempt has failed, was cancelled, or has lost its lease.
  case failed(RefreshTarget, error: any Error)
}

/// The event stream of a `Connect` has the events of its refreshers too.
extension RefreshEvent: ConnectWorkEvent {
  public var workName: String {
    switch self {
    case .started: "refresh.started"
    case .succeeded: "refresh.succeeded"
    case .failed: "refresh.failed"
    }
  }

  /// The name of the entity.
  public var workSubject: String? {
    switch self {
    case .started(let target, reason: _), .succeeded(let target, _), .failed(let target, error: _): target.entityName
    }
  }
}
