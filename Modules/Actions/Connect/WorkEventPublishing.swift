import CoherenceCore

/// A Connect that publishes the events of other work on its stores, for the modules of that work.
package protocol WorkEventPublishing: Connect {
  /// Publishes an event to the streams of ``Connect/events``, after the events so far. The event is not made if no stream
  /// is in use. Never waits for the delivery.
  func publish(_ makeEvent: () -> any ConnectWorkEvent)
}

extension GenericConnect: WorkEventPublishing {
  package final func publish(_ makeEvent: () -> any ConnectWorkEvent) { dispatcher.events.workAdvanced(makeEvent) }
}
