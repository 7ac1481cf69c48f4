import CoherenceActions
import CoherenceCore
import Synchronization

/// The state of an outbox's forwarding: the handlers, the counts, the events, and the running forwarder.
///
/// May be used from any thread.
final class ForwardingState: Sendable {
  private struct State {
    /// The handlers by the name of the registered entity.
    var routes: [String: ForwardRoute] = [:]
    var statistics = ForwardStatistics()
    var isPaused = false
    var runner: Runner?
    var steps: (any ForwardingSteps)?
  }

  /// The running forwarder with its loop.
  struct Runner: Sendable {
    let messages: ForwardMessages
    let loop: Task<Void, Never>
  }

  private let state = Mutex(State())
  private let streams = Broadcast<OutboxEvent>()
  /// The Connect of the outbox, whose stream gets the events too; `nil` for another container.
  private let connect: (any WorkEventPublishing)?

  init(_ connect: (any WorkEventPublishing)?) { self.connect = connect }

  var events: AsyncStream<OutboxEvent> { streams.makeStream() }
  var statistics: ForwardStatistics { state.withLock { $0.statistics } }
  var hasRoutes: Bool { state.withLock { !$0.routes.isEmpty } }
  var runner: Runner? { state.withLock { $0.runner } }

  var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set {
      let runner = state.withLock { state in
        state.isPaused = newValue
        return state.runner
      }
      runner?.messages.requestPauseUpdate()
    }
  }

  /// Observes the steps; for tests.
  var steps: (any ForwardingSteps)? {
    get { state.withLock { $0.steps } }
    set { state.withLock { $0.steps = newValue } }
  }

  func send(_ event: OutboxEvent) {
    streams.send { event }
    connect?.publish { event }
  }
  func updateStatistics(_ change: (inout ForwardStatistics) -> Void) { state.withLock { change(&$0.statistics) } }

  /// Reports a step.
  ///
  /// - Returns: Whether the forwarder continues.
  func reached(_ step: ForwardingStep, _ flight: ForwardFlight) -> Bool {
    steps?.reached(step, flight.content.idempotencyKey) ?? true
  }

  // MARK: Handlers

  func register(_ route: ForwardRoute, for entity: EntityDescription) {
    let (former, runner) = state.withLock { state in
      (state.routes.updateValue(route, forKey: entity.name), state.runner)
    }
    runner?.messages.requestSearch()
    // Released after the lock: the `deinit` of an object in the former handlers may use the outbox.
    withExtendedLifetime(former) {}
  }

  /// Returns the handlers of an entity, or else the handlers of its nearest ancestor with handlers; `nil` without such
  /// an ancestor.
  func route(for entity: EntityDescription) -> (name: String, route: ForwardRoute)? {
    state.withLock { state in
      var next: EntityDescription? = entity
      while let entity = next {
        if let route = state.routes[entity.name] { return (entity.name, route) }
        next = entity.superentity
      }
      return nil
    }
  }

  /// The greatest number of edits that a call of a registered handler takes.
  var largestBatch: Int { state.withLock { $0.routes.values.map(\.batchLimit).max() ?? 1 } }

  // MARK: Running

  /// Starts a forwarder, unless a forwarder is running.
  func start(_ make: () -> Runner) {
    state.withLock { state in
      if state.runner == nil { state.runner = make() }
    }
  }

  /// Releases a forwarder after the end of its loop.
  func ended(_ messages: ForwardMessages) {
    state.withLock { state in
      if state.runner?.messages === messages { state.runner = nil }
      state.statistics.inFlight = 0
    }
  }
}
