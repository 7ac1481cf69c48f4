import CoherenceCore
import CoherenceInMemory
import CoherenceTelemetry
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

@Suite("Telemetry")
struct TelemetryTests {
  private struct Own: Error, CustomStringConvertible {
    let description = "password=hunter2"
  }

  /// An attribute of a span, as text.
  private static func text(_ name: String, of span: FinishedInMemorySpan?) -> String? {
    var result: String?
    span?.attributes.forEach { key, value in
      guard key == name else { return }
      switch value {
      case .string(let text): result = text
      case .int64(let number): result = "\(number)"
      case .int32(let number): result = "\(number)"
      default: result = "\(value)"
      }
    }
    return result
  }

  @Test func `attaching, saving and fetching report their counts`() throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try context.performAndWait {
      let ada = try stage.insert("ada", into: context)
      _ = try stage.insert("grace", into: context)
      try context.save()
      try ada.setValue(36, for: "age")
      try context.save()
      #expect(try stage.people(in: context).count == 2)
    }
    let save = [("operation", "save"), ("subject", "stores")]
    let fetch = [("operation", "fetch"), ("subject", "Person")]
    #expect(stage.total("coherence.operations", save + [("outcome", "success")]) == 2)
    #expect(stage.total("coherence.records", save + [("change", "inserted")]) == 2)
    #expect(stage.total("coherence.records", save + [("change", "updated")]) == 1)
    #expect(stage.total("coherence.records", fetch + [("change", "fetched")]) == 2)
    #expect(try stage.metrics.expectTimer("coherence.operation.duration", fetch).values.count == 1)
    let names = stage.tracer.finishedSpans.map(\.operationName)
    #expect(names == ["coherence.attach", "coherence.save", "coherence.save", "coherence.fetch"])
    #expect(Self.text("coherence.records.fetched", of: stage.spans("coherence.fetch").first) == "2")
    #expect(Self.text("coherence.subject", of: stage.spans("coherence.attach").first) == "InMemory")
    #expect(stage.log.all.count == 4)
    let line = try #require(stage.log.all.last)
    #expect(line.hasPrefix("debug coherence.fetch"))
    for (name, value) in [("subject", "Person"), ("outcome", "success"), ("fetched", "2")] {
      #expect(line.contains("\(name)") && line.contains(value), "\(line)")
    }
    #expect(line.contains("duration") && !line.contains("ada"))
  }

  @Test func `a save that inserts, updates and deletes reports each of its counts`() throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try context.performAndWait {
      let (ada, grace) = (try stage.insert("ada", into: context), try stage.insert("grace", into: context))
      try context.save()
      try ada.setValue(36, for: "age")
      context.delete(grace)
      for name in ["alan", "edsger", "barbara"] { _ = try stage.insert(name, into: context) }
      try context.save()
    }
    let save = [("operation", "save"), ("subject", "stores")]
    let span = stage.spans("coherence.save").last
    let line = try #require(stage.log.all.last)
    // The first save inserted two records.
    for (change, number, total) in [("inserted", 3, 5), ("updated", 1, 1), ("deleted", 1, 1)] {
      #expect(stage.total("coherence.records", save + [("change", change)]) == Int64(total))
      #expect(Self.text("coherence.records.\(change)", of: span) == "\(number)")
      #expect(line.contains(change), "\(line)")
    }
  }

  @Test func `only the changes that a save makes are counted`() throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try context.performAndWait {
      _ = try stage.insert("ada", into: context)
      try context.save()
    }
    let counters = stage.metrics.counters.filter { $0.label == "coherence.records" }
    let changes = counters.flatMap { $0.dimensions.filter { $0.0 == "change" }.map { $0.1 } }
    #expect(changes == ["inserted"])
    let timers = [("operation", "save"), ("subject", "stores")]
    let duration = try #require(try stage.metrics.expectTimer("coherence.operation.duration", timers).values.first)
    #expect(duration > 0)
  }

  @Test func `a failed save reports its error code`() throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try context.performAndWait {
      let person = try stage.insert("ada", into: context)
      try person.setValue(nil as String?, for: "name")
      #expect(throws: CoherenceError.self) { try context.save() }
    }
    let span = try #require(stage.spans("coherence.save").first)
    #expect(span.status?.code == .error)
    #expect(Self.text("error.type", of: span) == "validationFailed")
    #expect(span.errors.isEmpty, "A tracer would tell the error's text.")
    let labels = [("operation", "save"), ("subject", "stores"), ("outcome", "failure")]
    #expect(stage.total("coherence.operations", labels) == 1)
    let line = try #require(stage.log.all.last)
    #expect(line.hasPrefix("info coherence.save") && line.contains("validationFailed"), "\(line)")
  }

  @Test func `spans nest in the current span, also across perform`() async throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try await withTracer(stage.tracer) {
      try await withSpan("request") { _ in
        try context.performAndWait { _ = try stage.people(in: context) }
        try await context.perform { _ = try stage.people(in: context) }
      }
    }
    let request = try #require(stage.spans("request").first)
    let fetches = stage.spans("coherence.fetch")
    #expect(fetches.count == 2)
    #expect(fetches.allSatisfy { $0.parentSpanID == request.spanID && $0.traceID == request.traceID })
  }

  @Test func `operations started by an operation are inside of its span`() throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try stage.coordinator.observed(StackOperation(.merge, "Person")) {
      _ = try context.performAndWait { try stage.people(in: context) }
    }
    #expect(stage.spans("coherence.fetch").first?.parentSpanID == stage.spans("coherence.merge").first?.spanID)
  }

  @Test func `asynchronous operations are reported`() async throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try await stage.coordinator.observed(StackOperation(.action, "Refresh")) {
      _ = try await context.perform { try stage.people(in: context).count }
    }
    #expect(stage.spans("coherence.fetch").first?.parentSpanID == stage.spans("coherence.action").first?.spanID)
    await #expect(throws: CancellationError.self) {
      try await stage.coordinator.observed(StackOperation(.action, "Refresh")) {
        await Task.yield()
        throw CancellationError()
      }
    }
    let labels = [("operation", "action"), ("subject", "Refresh"), ("outcome", "cancelled")]
    #expect(stage.total("coherence.operations", labels) == 1)
    #expect(stage.spans("coherence.action").last?.status == nil, "To be cancelled is no error.")
    let line = try #require(stage.log.all.last)
    #expect(line.hasPrefix("debug coherence.action") && line.contains("cancelled"), "\(line)")
  }

  @Test func `reports never contain values, predicates and texts of errors`() throws {
    let stage = try TelemetryStage()
    let context = stage.makeContext()
    try context.performAndWait {
      _ = try stage.insert("hunter2", into: context)
      try context.save()
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      request.predicate = try FetchPredicate(format: "name == %@", "hunter2")
      _ = try context.fetch(request)
      #expect(throws: Own.self) {
        try stage.coordinator.observed(StackOperation(.action, "Refresh")) { throw Own() }
      }
    }
    var told = stage.log.all
    for span in stage.tracer.finishedSpans {
      told.append(span.operationName)
      span.attributes.forEach { told.append("\($0) \($1)") }
      told += span.errors.map { "\($0)" }
    }
    for counter in stage.metrics.counters { told.append("\(counter.label) \(counter.dimensions)") }
    #expect(told.count > 6)
    #expect(!told.joined().contains("hunter2"))
    #expect(told.contains { $0.contains("Own") })
  }

  @Test func `a stack without an observer reports nothing while another stack is observed`() throws {
    let others = try TelemetryStage()
    let stage = try TelemetryStage(observed: false)
    let context = stage.makeContext()
    #expect(try context.performAndWait { try stage.people(in: context) }.isEmpty)
    #expect(stage.tracer.finishedSpans.isEmpty)
    #expect(others.spans("coherence.fetch").isEmpty)
  }
}
