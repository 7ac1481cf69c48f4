public import CoherenceCore
public import Logging
public import Metrics
public import Tracing

/// Reports the operations of a stack to metrics, traces and a log.
///
/// ```swift
/// connect.persistentStoreCoordinator.observer = TelemetryObserver()
/// ```
///
/// | operation | span | subject |
/// |---|---|---|
/// | a store is attached | `coherence.attach` | the store type |
/// | a fetch | `coherence.fetch` | the entity |
/// | a save | `coherence.save` | `stores`, or `parent` |
/// | a merge | `coherence.merge` | the entity |
/// | an attempt of an action | `coherence.action` | the type of the action |
/// | a call of an outbox's handler | `coherence.forward` | the entity |
/// | an attempt of a persisted action | `coherence.persistedAction` | the name of the action |
/// | an attempt of a refresh | `coherence.refresh` | the entity |
///
/// Metrics, with the dimensions `operation` and `subject`:
/// - `coherence.operations`: a counter, with `outcome` (`success`, `failure` or `cancelled`).
/// - `coherence.operation.duration`: a timer.
/// - `coherence.records`: a counter, with `change` (`fetched`, `inserted`, `updated`, `deleted`, `unchanged`, `skipped`;
///   of the edits in a call: `accepted`, `rejected`, `conflicting`, `postponed`, `failed`).
///
/// Gauges, with the dimension `state`: `coherence.outbox.entries` (`pending`, `sending`, `parked`) and
/// `coherence.persistedActions` (`scheduled`, `waiting`, `running`, `parked`).
///
/// Spans have the attributes `coherence.subject`, `coherence.records.<change>` and, after a failure or cancellation,
/// `error.type`: the ``ErrorCode``, or the type of any other error. Spans nest like the operations, inside of the
/// current span at the submission of the work. The log has the same data, successes and cancellations at the level
/// `debug`, and failures at `info`.
///
/// None of them contains values of records, predicates, messages of errors or passwords. May be used from any thread.
public struct TelemetryObserver: StackObserver {
  private let sinks: TelemetrySinks

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - metrics: The factory of the metrics; by default the global factory at the end of each operation.
  ///   - tracer: The tracer of the spans; by default the global tracer at the start of each operation.
  ///   - logger: The logger of the operations; by default none.
  public init(metrics: (any MetricsFactory)? = nil, tracer: (any Tracer)? = nil, logger: Logger? = nil) {
    sinks = TelemetrySinks(metrics: metrics, tracer: tracer, logger: logger)
  }

  /// Starts the span of an operation. Called by the stack.
  public func began(_ operation: StackOperation) -> any StackObservation {
    let tracer = sinks.tracer ?? InstrumentationSystem.tracer
    let span = tracer.startAnySpan("coherence.\(operation.kind.rawValue)", ofKind: operation.kind.spanKind)
    span.attributes["coherence.subject"] = operation.subject
    return TelemetryObservation(operation: operation, span: span, sinks: sinks)
  }

  /// Records a number. Called by the stack.
  public func measured(_ gauge: StackGauge) {
    Gauge(
      label: "coherence.\(gauge.name)", dimensions: [("state", gauge.state)],
      factory: sinks.metrics ?? MetricsSystem.factory
    ).record(gauge.value)
  }

  /// The current service context, which the stack carries to another thread. Called by the stack.
  public func scope() -> (any StackScope)? { ServiceContext.current.map(TelemetryScope.init) }
}

/// The destinations of the reports.
struct TelemetrySinks: Sendable {
  let metrics: (any MetricsFactory)?
  let tracer: (any Tracer)?
  let logger: Logger?
}

/// A service context, carried from one thread or task to another.
struct TelemetryScope: StackScope {
  let context: ServiceContext

  func run<T>(_ body: () throws -> T) rethrows -> T {
    try ServiceContext.withValue(context, operation: body)
  }

  func run<T>(_ body: () async throws -> T) async rethrows -> T {
    try await ServiceContext.$current.withValue(context, operation: body)
  }
}

extension StackOperation.Kind {
  /// Fetches, saves and attaching call a store, as a client, and forwarding calls a server. Merges, actions and refreshes
  /// are work of this process. A save into a parent has the kind of all saves.
  var spanKind: SpanKind {
    switch self {
    case .attach, .fetch, .save, .forward: .client
    case .merge, .action, .persistedAction, .refresh: .internal
    }
  }
}
