package import Foundation

/// A step of the forwarding of an edit. A crash may follow each step.
package enum ForwardingStep: String, Sendable, CaseIterable {
  /// The entries are claimed, and sealed under one idempotency key.
  case claimed
  /// The handler is about to be called.
  case sent
  /// The handler has returned a decision of the server, or thrown an error.
  case answered
  /// The decision is written to the store.
  case acknowledged
}

/// Observes the steps of a forwarder, and can end it between two of them as a crash would.
package protocol ForwardingSteps: Sendable {
  /// Called after each step.
  ///
  /// - Parameters:
  ///   - step: The completed step.
  ///   - key: The idempotency key of the edit.
  /// - Returns: Whether the forwarder continues. Otherwise it writes nothing more.
  func reached(_ step: ForwardingStep, _ key: UUID) -> Bool
}

extension Outbox {
  /// The observer of the steps of forwarding; for tests.
  package var forwardingSteps: (any ForwardingSteps)? {
    get { forwarding.steps }
    set { forwarding.steps = newValue }
  }
}
