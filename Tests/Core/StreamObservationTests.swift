import CoherenceCore
import Synchronization
import Testing

@Suite("The observation of streams")
struct StreamObservationTests {
  /// Keeps the outcomes of fetches.
  private final class Log: StackObserver {
    private let outcomes = Mutex<[StackOutcome]>([])

    var fetches: [StackOutcome] { outcomes.withLock { $0 } }
    func began(_ operation: StackOperation) -> any StackObservation { Observation(log: self, operation: operation) }
    func scope() -> (any StackScope)? { nil }

    private struct Observation: StackObservation {
      let log: Log
      let operation: StackOperation

      func ended(_ outcome: StackOutcome) {
        if operation.kind == .fetch { log.outcomes.withLock { $0.append(outcome) } }
      }
      func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
      func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
    }
  }

  private let coordinator: PersistentStoreCoordinator
  private let log = Log()

  init() throws {
    coordinator = try PersistentStoreCoordinator(
      inMemory: ManagedObjectModel { Entity("Song") { Attribute("title", .string, default: "") } })
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      for _ in 0..<1_000 { _ = try context.insertNewObject(forEntityName: "Song") }
      try context.save()
    }
    coordinator.observer = log
  }

  @Test func `the observer of a stack sees a stream as one fetch of all of its records`() async throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    let count = Mutex(0)
    let request = FetchRequest<ManagedObject>(entityName: "Song")
    try await context.forEachBatch(of: request, batchSize: 300, unreadLimit: .seconds(3600)) { songs in
      count.withLock { $0 += songs.count }
    }
    #expect(count.withLock { $0 } == 1_000)
    // The objects of each batch are read by a fetch of their own.
    let streamed = log.fetches.filter { $0.records["fetched"] == 1_000 }
    #expect(streamed.count == 1 && streamed.allSatisfy { $0.error == nil })
  }
}
