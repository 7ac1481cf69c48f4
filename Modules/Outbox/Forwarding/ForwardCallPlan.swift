import CoherenceCore

/// Distributes ready steps over calls of handlers, up to a limit of calls.
struct ForwardCallPlan {
  /// A planned call.
  private struct Slot {
    /// The name of the entity for which the handlers are registered.
    let name: String
    let route: ForwardRoute
    /// The first entries of the steps to claim for the call.
    var heads: [ManagedObjectID]
    /// The edits whose claims succeeded.
    var flights: [ForwardFlight] = []
  }

  private let limit: Int
  private let forwarding: ForwardingState
  private let model: ManagedObjectModel
  private var slots: [Slot] = []
  /// The errors of the steps that no handler can send, by their first entries.
  private var errors: [ManagedObjectID: CoherenceError] = [:]

  /// The steps to claim: the steps of the calls, and the steps that no handler can send.
  private(set) var steps: [OutboxStep] = []
  /// The outcomes of the claimed steps that no handler can send.
  private(set) var unsendable: [ForwardOutcome] = []
  /// The steps that were left out because all calls were full.
  private(set) var leftOut: [OutboxStep] = []

  /// - Parameter limit: The maximum number of calls.
  init(limit: Int, forwarding: ForwardingState, model: ManagedObjectModel) {
    self.limit = limit
    self.forwarding = forwarding
    self.model = model
  }

  /// The calls with at least one claimed edit.
  var calls: [ForwardCall] {
    slots.filter { !$0.flights.isEmpty }.map { ForwardCall(route: $0.route, flights: $0.flights) }
  }

  /// Assigns a step to a call, unless all calls are full. A step without a handler, or with unreadable values, needs no
  /// call.
  mutating func add(_ step: OutboxStep) {
    guard step.entries.allSatisfy(\.isReadable) else {
      errors[step.head.id] = Self.unreadable(step)
      return steps.append(step)
    }
    guard let (name, route) = route(for: step) else {
      errors[step.head.id] = Self.unhandled(step)
      return steps.append(step)
    }
    if route.batch != nil, let index = slots.lastIndex(where: { $0.name == name }),
      slots[index].heads.count < route.batchLimit
    {
      slots[index].heads.append(step.head.id)
    } else if slots.count < limit {
      slots.append(Slot(name: name, route: route, heads: [step.head.id]))
    } else {
      leftOut.append(step)
      return
    }
    steps.append(step)
  }

  /// Adds a claimed edit to the call of its step, or to ``unsendable``. The values over 32 KB are read after the claim,
  /// and may be unreadable too.
  mutating func fill(_ flight: ForwardFlight) {
    let isReadable = flight.step.entries.allSatisfy(\.isReadable)
    if let error = errors[flight.head] ?? (isReadable ? nil : Self.unreadable(flight.step)) {
      // An edit with unreadable values is not refused: an earlier attempt by a later release may have reached the
      // server.
      let isUnreadable = error.code == .storeCorrupt
      let result: Result<ForwardAnswer, any Error> = isUnreadable ? .failure(error) : .success(.rejected(error))
      unsendable.append(ForwardOutcome(flight: flight, result: result, isOnline: true))
    } else if let index = slots.firstIndex(where: { $0.heads.contains(flight.head) }) {
      slots[index].flights.append(flight)
    }
  }

  private func route(for step: OutboxStep) -> (name: String, route: ForwardRoute)? {
    guard let entity = model.entitiesByName[step.head.entityName], let found = forwarding.route(for: entity),
      found.route.batch != nil || found.route.handlers[step.kind] != nil
    else { return nil }
    return found
  }

  private static func unhandled(_ step: OutboxStep) -> CoherenceError {
    CoherenceError(
      .forwardUnhandled,
      "Entity '\(step.head.entityName)' has no handler for an edit of the kind '\(step.kind)', so that the edit is "
        + "parked; register a handler, and retry the entry.")
  }

  /// The error of an edit with unreadable values. A request without these values would lose the edit.
  private static func unreadable(_ step: OutboxStep) -> CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "The values of an edit of '\(step.head.entityName)' cannot be read: a later release wrote them, or they are "
        + "damaged. Update the program and retry the entry, or drop the entry.")
  }
}
