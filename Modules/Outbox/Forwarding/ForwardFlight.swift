import CoherenceCore

/// A claimed edit, from its claim to the settlement of the server's decision.
struct ForwardFlight: Sendable {
  let step: OutboxStep
  var content: ForwardContent

  /// The identifier of the claimed entry.
  var head: ManagedObjectID { step.head.id }
  var request: ForwardRequest<ManagedObject> { ForwardRequest(content: content) }
}

/// The result of an attempt to send an edit.
struct ForwardOutcome: Sendable {
  let flight: ForwardFlight
  /// The decision or the error that the handler returned; `nil` if the edit is released without an attempt.
  let result: Result<ForwardAnswer, any Error>?
  /// Whether the network was reachable at the end of the attempt.
  let isOnline: Bool
  /// The outage of the server that the attempt has found; `nil` without an outage.
  var outage: ForwardOutage?
}

/// One call of a handler, with one edit or a batch.
struct ForwardCall: Sendable {
  let route: ForwardRoute
  var flights: [ForwardFlight]

  /// Calls the handler, as an operation of the stack.
  ///
  /// - Returns: The result of each edit, in the order of the edits.
  func run(in coordinator: PersistentStoreCoordinator) async -> [Result<ForwardAnswer, any Error>] {
    guard let flight = flights.first else { return [] }
    do {
      let results = try await coordinator.observed(StackOperation(.forward, flight.content.entityName)) {
        try await callHandler()
      } outcome: { results in
        StackOutcome(records: Dictionary(results.map { ($0.treatment, 1) }, uniquingKeysWith: +))
      }
      let entities = coordinator.managedObjectModel.entitiesByName
      return zip(flights, results).map { flight, result in
        result.map { $0.inStoredForm(for: entities[flight.content.entityName]) }
      }
    } catch {
      return flights.map { _ in .failure(error) }
    }
  }

  private func callHandler() async throws -> [Result<ForwardAnswer, any Error>] {
    if let batch = route.batch {
      let answers = try await batch(flights.map(\.content))
      return flights.map { flight in
        answers[flight.content.idempotencyKey].map { .success($0) } ?? .failure(Self.unanswered(flight.content))
      }
    }
    guard let flight = flights.first, let handler = route.handlers[flight.content.kind] else { return [] }
    return [.success(try await handler(flight.content))]
  }

  private static func unanswered(_ content: ForwardContent) -> CoherenceError {
    CoherenceError(
      .forwardUnanswered,
      "The batch handler of '\(content.entityName)' returned no `ForwardAnswer` for an edit; the edit is sent again. "
        + "Return a `ForwardAnswer` for each idempotency key that the server has decided on.", isRetryable: true)
  }
}

extension Result<ForwardAnswer, any Error> {
  /// The name of the server's decision, by which ``StackOutcome`` counts edits.
  fileprivate var treatment: String {
    switch self {
    case .success(let answer):
      switch answer.decision {
      case .accepted: "accepted"
      case .conflict: "conflicting"
      case .rejected: "rejected"
      case .later: "postponed"
      }
    case .failure: "failed"
    }
  }
}
