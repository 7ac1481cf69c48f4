import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import CoherenceTelemetry
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

@Suite("Telemetry of actions")
struct ActionTelemetryTests {
  private typealias TestConnect = GenericConnect<ContextStrategy.Direct>
  private let metrics = TestMetrics()
  private let tracer = InMemoryTracer()

  private struct CountPeople: AsyncEntityAction {
    typealias ManagedObjectType = Person

    func execute(context: ActionContext) async throws -> Int {
      try await context.perform { try context.fetch(FetchRequest(Person.self)).count }
    }
  }

  private struct MergePeople: AsyncEntityAction {
    typealias ManagedObjectType = Person
    let names: [String]

    func execute(context: ActionContext) async throws {
      let records = names.map { MergeRecord(["name": $0]) }
      try await context.perform {
        guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
        try context.merge(records: records, for: try model.entity(for: Person.self))
      }
    }
  }

  private struct Refuse: GenericAction {
    struct Refusal: Error {}
    func execute() throws { throw Refusal() }
  }

  private func makeConnect() throws -> TestConnect {
    let model = try ManagedObjectModel {
      Entity("Person", class: Person.self, userInfo: ["uniquenessAttributes": "name"]) { Attribute("name", .string) }
    }
    let connect = TestConnect(name: "Telemetry", managedObjectModel: model)
    connect.persistentStoreCoordinator.observer = TelemetryObserver(metrics: metrics, tracer: tracer)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
    return connect
  }

  private func span(_ name: String) -> FinishedInMemorySpan? {
    tracer.finishedSpans.first { $0.operationName == name }
  }

  @Test func `the span of an action is inside of its submitter's span and contains its fetches`() async throws {
    let connect = try makeConnect()
    try await withTracer(tracer) {
      try await withSpan("request") { _ in _ = try await connect.execute(CountPeople()).value }
    }
    let action = try #require(span("coherence.action"))
    #expect(action.parentSpanID == span("request")?.spanID)
    #expect(span("coherence.fetch")?.parentSpanID == action.spanID)
  }

  @Test func `the span of a merge is inside of its action's span and has its counts`() async throws {
    let connect = try makeConnect()
    for _ in 0..<2 { _ = try await connect.execute(MergePeople(names: ["ada", "grace"])).value }
    let merges = tracer.finishedSpans.filter { $0.operationName == "coherence.merge" }
    let actions = tracer.finishedSpans.filter { $0.operationName == "coherence.action" }
    #expect(merges.map(\.parentSpanID) == actions.map(\.spanID))
    #expect(span("coherence.save")?.parentSpanID == merges.first?.spanID)
    for (change, count) in [("inserted", 2), ("unchanged", 2)] {
      let labels = [("operation", "merge"), ("subject", "Person"), ("change", change)]
      #expect(metrics.counterTotal(label: "coherence.records", dimensions: labels) == Int64(count))
    }
  }

  @Test func `the span of a failed action has the type of its error`() async throws {
    let connect = try makeConnect()
    await #expect(throws: Refuse.Refusal.self) { try await connect.execute(Refuse()).value }
    let labels = [("operation", "action"), ("subject", "Refuse"), ("outcome", "failure")]
    #expect(metrics.counterTotal(label: "coherence.operations", dimensions: labels) == 1)
    #expect(span("coherence.action")?.status?.code == .error)
  }
}

/// The class of the people that actions work on.
final class Person: ManagedObject {}
