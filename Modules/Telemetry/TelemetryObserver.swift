public import CoherenceCore
public import Logging
public import Metrics
public import Tracing

/// Tells metrics, traces and a log what a stack does.
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
///
/// Metrics, with the dimensions `operation` and `subject`:
/// - `coherence.operations`: a counter, with `outcome` (`success`, `failure` or `cancelled`).
/// - `coherence.operation.duration`: a timer.
/// - `coherence.records`: a counter, with `change` (`fetched`, `inserted`, `updated`, `deleted`, `unchanged`, `skipped`).
///
/// Spans have the attributes `coherence.subject`, `coherence.records.<change>` and, after a failure, `error.type`: the
/// ``ErrorCode``, or the type of an error of somebody else's. Spans nest as the operations do, and inside of the span that
/// was current when the work was submitted. The log has the same at the level `debug`, failures at `info`.
///
/// Values of records, predicates, messages of errors and passwords are in none of them.
public struct TelemetryObserver: StackObserver {
  private let sinks: TelemetrySinks

  /// - Parameters:
  ///   - metrics: Where metrics go; by default the factory in force when an operation ends.
  ///   - tracer: What makes spans; by default the tracer in force when an operation begins.
  ///   - logger: By default none: the other two tell more.
  public init(metrics: (any MetricsFactory)? = nil, tracer: (any Tracer)? = nil, logger: Logger? = nil) {
    sinks = TelemetrySinks(metrics: metrics, tracer: tracer, logger: logger)
  }

  public func began(_ operation: StackOperation) -> any StackObservation {
    let tracer = sinks.tracer ?? InstrumentationSystem.tracer
    let span = tracer.startAnySpan("coherence.\(operation.kind.rawValue)", ofKind: operation.kind.spanKind)
    span.attributes["coherence.subject"] = operation.subject
    return TelemetryObservation(operation: operation, span: span, sinks: sinks)
  }

  public func scope() -> (any StackScope)? { ServiceContext.current.map(TelemetryScope.init) }
}

/// Where what is observed goes.
struct TelemetrySinks: Sendable {
  let metrics: (any MetricsFactory)?
  let tracer: (any Tracer)?
  let logger: Logger?
}

/// The service context of one thread, to be taken to another.
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
  /// Stores are asked by fetches, saves and attaching; the others are work of this process.
  var spanKind: SpanKind {
    switch self {
    case .attach, .fetch, .save: .client
    case .merge, .action: .internal
    }
  }
}
