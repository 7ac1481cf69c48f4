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
    /// Makes the forwarder of a start that came during a stop, after the end of the stop; `nil` without such a start.
    var nextStart: (@Sendable () -> Runner)?
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

  /// Whether a start waits for the end of a stop.
  var hasNextStart: Bool { state.withLock { $0.nextStart != nil } }

  /// The forwarder, after the end of a stop for which a start waits; `nil` without a forwarder.
  ///
  /// - Throws: ``ErrorCode/deadlock`` in an action or other handler that a handler of the stopping forwarder waits for.
  func startedRunner() async throws -> Runner? {
    while hasNextStart, let stopping = runner {
      try await stopping.messages.handlerCalls.wait { await stopping.loop.value }
    }
    return runner
  }

  /// Starts a forwarder, unless a forwarder is running. During a stop, the forwarder starts at the end of the stop.
  func start(_ make: @escaping @Sendable () -> Runner) {
    let former = state.withLock { state -> (@Sendable () -> Runner)? in
      let former = state.nextStart
      if let runner = state.runner {
        if runner.messages.mode != .running { state.nextStart = make }
      } else {
        state.nextStart = nil
        state.runner = make()
      }
      return former
    }
    // Released after the lock: the closure may have the last reference to the outbox.
    withExtendedLifetime(former) {}
  }

  /// Starts the forwarder of a start that came during the stop of a forwarder.
  ///
  /// - Parameter messages: The messages of the stopped forwarder.
  func startNext(after messages: ForwardMessages) {
    let former = state.withLock { state -> (@Sendable () -> Runner)? in
      let next = state.nextStart
      state.nextStart = nil
      if let runner = state.runner, runner.messages !== messages { return next }
      state.runner = next?()
      return next
    }
    withExtendedLifetime(former) {}
  }

  /// Ends a start that waits for the end of a stop.
  ///
  /// - Returns: The forwarder, for the caller to stop; `nil` without a forwarder.
  func takeRunnerToStop() -> Runner? {
    let (runner, former) = state.withLock { state -> (Runner?, (@Sendable () -> Runner)?) in
      let former = state.nextStart
      state.nextStart = nil
      return (state.runner, former)
    }
    withExtendedLifetime(former) {}
    return runner
  }

  /// Releases a forwarder after the end of its loop, unless ``startNext(after:)`` is to replace it.
  func ended(_ messages: ForwardMessages) {
    state.withLock { state in
      if state.runner?.messages === messages, state.nextStart == nil { state.runner = nil }
      state.statistics.inFlight = 0
    }
  }
}
