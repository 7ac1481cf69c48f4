public import CoherenceActions
public import CoherenceCore

/// An event of the forwarding of an outbox; see ``Outbox/events``.
public enum OutboxEvent: Sendable {
  /// The forwarding has started.
  case started
  /// The forwarding has stopped, and no handler is running.
  case stopped
  /// No new handler calls start until ``resumed``, because the outbox is paused, its Connect is suspended, or the
  /// network is offline.
  case paused
  /// The forwarding continues after ``paused``.
  case resumed
  /// An edit is given to its handler.
  case sending(ForwardRequest<ManagedObject>)
  /// The server has accepted an edit. The server's values are written to the record, and the entries are deleted.
  case accepted(ForwardRequest<ManagedObject>)
  /// An attempt has failed, and another attempt follows after the delay. If the server was unavailable, the other edits
  /// wait too, without an event.
  case willRetry(ForwardRequest<ManagedObject>, error: any Error, delay: Duration)
  /// An edit is parked with its error. Later edits of its record wait; edits of other records are still sent.
  case parked(ForwardRequest<ManagedObject>, error: any Error)
  /// The server has reported a conflict, with the values of its record.
  case conflict(
    ForwardRequest<ManagedObject>, serverValues: [String: AttributeValue],
    resolution: ForwardConflictPolicy.Resolution)
  /// A store failed while entries were read or written. The forwarding of its edits continues after a delay; the edits
  /// of other stores are sent. Or a save cannot be read, with `ErrorCode.storeCorrupt`: later edits of its store wait
  /// until ``Outbox/drop(_:)`` removes its entry.
  case failed(any Error)
  /// No edit can be sent now, and no handler is running.
  case idle
}

/// The events of an outbox of a Connect are in the stream of the Connect's events too.
extension OutboxEvent: ConnectWorkEvent {
  public var workName: String {
    switch self {
    case .started: "outbox.started"
    case .stopped: "outbox.stopped"
    case .paused: "outbox.paused"
    case .resumed: "outbox.resumed"
    case .sending: "outbox.sending"
    case .accepted: "outbox.accepted"
    case .willRetry: "outbox.willRetry"
    case .parked: "outbox.parked"
    case .conflict: "outbox.conflict"
    case .failed: "outbox.failed"
    case .idle: "outbox.idle"
    }
  }

  /// The name of the entity of the edit; `nil` for an event of the forwarding as a whole.
  public var workSubject: String? {
    switch self {
    case .started, .stopped, .paused, .resumed, .failed, .idle: nil
    case .sending(let request), .accepted(let request), .willRetry(let request, error: _, delay: _),
      .parked(let request, error: _), .conflict(let request, serverValues: _, resolution: _):
      request.entityName
    }
  }
}
