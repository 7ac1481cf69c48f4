import CoherenceCore
import CoherenceInMemory
import CoherenceTelemetry
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import Synchronization

/// A stack in memory with doubles for metrics, traces and the log.
struct TelemetryStage: Sendable {
  let metrics = TestMetrics()
  let tracer = InMemoryTracer()
  let log = LogLines()
  let coordinator: PersistentStoreCoordinator

  init(observed: Bool = true) throws {
    let model = try ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Attribute("age", .int64, default: 0)
      }
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    if observed {
      coordinator.observer = TelemetryObserver(metrics: metrics, tracer: tracer, logger: log.logger)
    }
    try coordinator.addPersistentStore(type: .inMemory)
  }

  func makeContext() -> ManagedObjectContext { ManagedObjectContext(coordinator: coordinator) }

  func people(in context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
  }

  func insert(_ name: String, into context: ManagedObjectContext) throws -> ManagedObject {
    let entity = try coordinator.managedObjectModel.entity(named: "Person")
    let person = ManagedObject(entity: entity, insertInto: context)
    try person.setValue(name, for: "name")
    return person
  }

  func spans(_ name: String) -> [FinishedInMemorySpan] { tracer.finishedSpans.filter { $0.operationName == name } }

  func total(_ label: String, _ dimensions: [(String, String)]) -> Int64 {
    metrics.counterTotal(label: label, dimensions: dimensions)
  }
}

/// Keeps the log entries with their metadata.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  var logger: Logger { Logger(label: "telemetry") { _ in Handler(lines: self) } }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.trace

    init(lines: LogLines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.lines.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
  }
}
