public import CoherenceCore

/// An event of the forwarding of an outbox; see ``Outbox/events``.
public enum OutboxEvent: Sendable {
  /// The forwarding has started.
  case started
  /// The forwarding has stopped: nothing is being sent.
  case stopped
  /// Nothing is sent until ``resumed``, because the outbox is paused, its Connect is suspended, or the network is
  /// offline.
  case paused
  /// The forwarding continues after ``paused``.
  case resumed
  /// An edit is sent to its handler.
  case sending(ForwardRequest<ManagedObject>)
  /// The server has accepted an edit, its answer is applied, and the entries are removed.
  case accepted(ForwardRequest<ManagedObject>)
  /// An attempt has failed, and another one follows after the delay.
  case willRetry(ForwardRequest<ManagedObject>, error: any Error, delay: Duration)
  /// An edit is parked with its error. Later edits of its record wait, and other edits go on.
  case parked(ForwardRequest<ManagedObject>, error: any Error)
  /// The server has reported a conflict, with the values of its record.
  case conflict(
    ForwardRequest<ManagedObject>, serverValues: [String: AttributeValue],
    resolution: ForwardConflictPolicy.Resolution)
  /// The store failed while entries were read or written. The forwarding continues after a delay.
  case failed(any Error)
  /// Nothing is left to be sent now.
  case idle
}
