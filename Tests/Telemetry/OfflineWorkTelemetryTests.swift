import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceOutbox
import CoherencePersistedActions
import CoherenceRefresh
import CoherenceStrategies
import CoherenceTelemetry
import Foundation
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

@Suite("Telemetry of offline work")
struct OfflineWorkTelemetryTests {
  private typealias TestConnect = GenericConnect<ContextStrategy.Mixed>
  private let metrics = TestMetrics()
  private let tracer = InMemoryTracer()

  private struct Broken: Error {}

  private struct Greet: PersistedAction {
    var fails = false
    static let retry = PersistedRetry.never
    func run(in context: PersistedActionContext) async throws {
      if fails { throw Broken() }
      let context = context.newContext()
      _ = try await context.perform { try context.fetch(FetchRequest(Person.self)).count }
    }
  }

  private func makeConnect() throws -> TestConnect {
    let model = try ManagedObjectModel {
      Entity("Person", class: Person.self, userInfo: ["uniquenessAttributes": "name"]) { Attribute("name", .string) }
    }.addingOutbox().addingPersistedActions().addingRefreshStatus()
    let connect = TestConnect(name: "Telemetry", managedObjectModel: model)
    connect.persistentStoreCoordinator.observer = TelemetryObserver(metrics: metrics, tracer: tracer)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
    return connect
  }

  private func save(_ names: [String], in connect: TestConnect) throws {
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      for name in names { try context.insertNewObject(forEntityName: "Person").setValue(name, for: "name") }
      try context.save()
    }
  }

  private func spans(_ name: String) -> [FinishedInMemorySpan] {
    tracer.finishedSpans.filter { $0.operationName == name }
  }

  private func operations(_ kind: String, _ subject: String, _ outcome: String) -> Int64 {
    metrics.counterTotal(
      label: "coherence.operations", dimensions: [("operation", kind), ("subject", subject), ("outcome", outcome)])
  }

  private func edits(_ change: String) -> Int64 {
    metrics.counterTotal(
      label: "coherence.records", dimensions: [("operation", "forward"), ("subject", "Person"), ("change", change)])
  }

  private func gauge(_ name: String, _ state: String) throws -> Double? {
    try metrics.expectGauge("coherence.\(name)", [("state", state)]).lastValue
  }

  // MARK: The outbox

  /// Saves three people, and forwards all edits.
  private func forward(_ connect: TestConnect, _ register: (inout ForwardHandlers<ManagedObject>) -> Void) async throws
  {
    let outbox = try Outbox(connect, entities: ["Person"])
    try save(["ada", "grace", "joan"], in: connect)
    try outbox.forward("Person", register)
    try outbox.start(ForwardOptions(retry: RetryPolicy(attempts: 1)))
    try await outbox.flush()
    await outbox.stop()
  }

  @Test func `each call of a handler is reported with the decision of the server on its edit`() async throws {
    try await forward(makeConnect()) { handlers in
      handlers.insert { request in
        switch request["name"] {
        case .string("ada"): .accepted
        case .string("grace"): .rejected(Broken())
        default: .conflict(["name": "jane"])
        }
      }
    }
    #expect(operations("forward", "Person", "success") == 3)
    #expect(edits("accepted") == 1 && edits("rejected") == 1 && edits("conflicting") == 1)
    #expect(spans("coherence.forward").count == 3)
  }

  @Test func `the call of a batch handler is one operation with the decisions on all of its edits`() async throws {
    try await forward(makeConnect()) { handlers in
      handlers.batch { requests in
        Dictionary(uniqueKeysWithValues: requests.map { ($0.idempotencyKey, ForwardAnswer.accepted) })
      }
    }
    #expect(operations("forward", "Person", "success") == 1)
    #expect(edits("accepted") == 3)
  }

  @Test func `a call that throws is reported with the type of its error`() async throws {
    try await forward(makeConnect()) { handlers in handlers.insert { _ in throw Broken() } }
    #expect(operations("forward", "Person", "failure") == 3)
    #expect(spans("coherence.forward").allSatisfy { $0.status?.code == .error && $0.errors.isEmpty })
  }

  @Test func `the numbers of entries are reported when nothing is left to be sent`() async throws {
    let connect = try makeConnect()
    try await forward(connect) { handlers in
      handlers.insert { $0["name"] == .string("ada") ? .accepted : .rejected(Broken()) }
    }
    #expect(try gauge("outbox.entries", "pending") == 0)
    #expect(try gauge("outbox.entries", "sending") == 0)
    #expect(try gauge("outbox.entries", "parked") == 2)
  }

  @Test func `the numbers of waiting entries are reported while the outbox is paused`() async throws {
    let connect = try makeConnect()
    let outbox = try Outbox(connect, entities: ["Person"])
    try outbox.forward("Person") { handlers in handlers.insert { _ in .accepted } }
    outbox.pause()
    try save(["ada", "grace"], in: connect)
    try outbox.start()
    try await outbox.flush()
    await outbox.stop()
    #expect(try gauge("outbox.entries", "pending") == 2)
    #expect(operations("forward", "Person", "success") == 0)
  }

  // MARK: Persisted actions

  @Test func `attempts of persisted actions are reported with their fetches, and the actions are counted`() async throws
  {
    let connect = try makeConnect()
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      try context.enqueue(Greet())
      try context.enqueue(Greet(fails: true))
      try context.enqueue(Greet(), at: .distantFuture)
      try context.save()
    }
    let worker = try PersistedActionWorker(connect, actions: [Greet.self])
    #expect(try await worker.runDueActions() == 2)
    #expect(operations("persistedAction", Greet.name, "success") == 1)
    #expect(operations("persistedAction", Greet.name, "failure") == 1)
    let attempts = Set(spans("coherence.persistedAction").map(\.spanID))
    #expect(attempts.count == 2)
    #expect(spans("coherence.fetch").contains { $0.parentSpanID.map(attempts.contains) == true })
    #expect(try gauge("persistedActions", "scheduled") == 1)
    #expect(try gauge("persistedActions", "waiting") == 0)
    #expect(try gauge("persistedActions", "running") == 0)
    #expect(try gauge("persistedActions", "parked") == 1)
  }

  // MARK: Refreshes

  @Test func `the span of a refresh contains the span of its action`() async throws {
    let connect = try makeConnect()
    let refresher = try Refresher(connect)
    try refresher.register(list: Person.self) { request in
      if request.reason == .request { return }
      throw Broken()
    }
    try await refresher.refresh(Person.self)
    let refresh = try #require(spans("coherence.refresh").first)
    #expect(spans("coherence.action").first?.parentSpanID == refresh.spanID)
    #expect(operations("refresh", "Person", "success") == 1)
  }

  @Test func `a failed refresh is reported`() async throws {
    let connect = try makeConnect()
    let refresher = try Refresher(connect)
    try refresher.register(list: Person.self) { _ in throw Broken() }
    await #expect(throws: Broken.self) { try await refresher.refresh(Person.self) }
    #expect(operations("refresh", "Person", "failure") == 1)
    #expect(spans("coherence.refresh").first?.status?.code == .error)
  }
}
