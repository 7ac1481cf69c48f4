import CoherenceCore
import Logging
import Metrics
import Tracing

/// The observation of one running operation: a span, which its end completes with metrics and a log entry.
struct TelemetryObservation: StackObservation {
  let operation: StackOperation
  let span: any Span
  let sinks: TelemetrySinks
  private let start = ContinuousClock.now

  init(operation: StackOperation, span: any Span, sinks: TelemetrySinks) {
    self.operation = operation
    self.span = span
    self.sinks = sinks
  }

  func run<T>(_ body: () throws -> T) rethrows -> T { try TelemetryScope(context: span.context).run(body) }
  func run<T>(_ body: () async throws -> T) async rethrows -> T {
    try await TelemetryScope(context: span.context).run(body)
  }

  func ended(_ outcome: StackOutcome) {
    let duration = start.duration(to: .now)
    let failure = outcome.error.map(Failure.init)
    end(outcome, failure)
    count(outcome, failure, duration)
    log(outcome, failure, duration)
  }

  private func end(_ outcome: StackOutcome, _ failure: Failure?) {
    for (change, number) in outcome.records { span.attributes["coherence.records.\(change)"] = number }
    if let failure {
      // Not the error itself: a tracer records the description, which may contain values.
      span.attributes["error.type"] = failure.type
      if !failure.isCancellation { span.setStatus(SpanStatus(code: .error)) }
    }
    span.end()
  }

  private func count(_ outcome: StackOutcome, _ failure: Failure?, _ duration: Duration) {
    let factory = sinks.metrics ?? MetricsSystem.factory
    let dimensions = [("operation", operation.kind.rawValue), ("subject", operation.subject)]
    Counter(
      label: "coherence.operations", dimensions: dimensions + [("outcome", failure?.outcome ?? "success")],
      factory: factory
    ).increment()
    Timer(label: "coherence.operation.duration", dimensions: dimensions, factory: factory)
      .recordNanoseconds(Int64(duration / .nanoseconds(1)))
    for (change, number) in outcome.records where number > 0 {
      Counter(label: "coherence.records", dimensions: dimensions + [("change", change)], factory: factory)
        .increment(by: Int64(number))
    }
  }

  private func log(_ outcome: StackOutcome, _ failure: Failure?, _ duration: Duration) {
    guard let logger = sinks.logger else { return }
    var metadata: Logger.Metadata = [
      "subject": "\(operation.subject)", "duration": "\(duration)", "outcome": "\(failure?.outcome ?? "success")",
    ]
    for (change, number) in outcome.records { metadata[change] = "\(number)" }
    if let failure { metadata["error.type"] = "\(failure.type)" }
    logger.log(
      level: failure.map { $0.isCancellation ? .debug : .info } ?? .debug, "coherence.\(operation.kind.rawValue)",
      metadata: metadata)
  }
}

/// The parts of an error that contain no values: its type, and whether it is a cancellation.
private struct Failure {
  let type: String
  let isCancellation: Bool
  var outcome: String { isCancellation ? "cancelled" : "failure" }

  init(_ error: any Error) {
    let code = (error as? CoherenceError)?.code
    type = code?.rawValue ?? "\(Swift.type(of: error))"
    isCancellation = code == .cancelled || error is CancellationError
  }
}
