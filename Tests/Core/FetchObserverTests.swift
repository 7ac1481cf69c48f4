import CoherenceCore
import Synchronization
import Testing

@Suite("Observers of fetches")
struct FetchObserverTests {
  /// Keeps the names of the fetched entities.
  private final class Log: FetchObserver {
    private let names = Mutex<[String]>([])

    var entries: [String] { names.withLock { $0 } }
    func willFetch(_ entity: EntityDescription) { names.withLock { $0.append(entity.name) } }
  }

  private func makeCoordinator() throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(
      inMemory: ManagedObjectModel { Entity("Song") { Attribute("title", .string, default: "") } })
  }

  private func fetch(in coordinator: PersistentStoreCoordinator, isReported: Bool = true) throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    context.reportsFetches = isReported
    try context.performAndWait { _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Song")) }
  }

  @Test func `an observer receives each fetch and count, until its removal`() throws {
    let (coordinator, log) = (try makeCoordinator(), Log())
    try fetch(in: coordinator)
    coordinator.addFetchObserver(log)
    coordinator.addFetchObserver(log)
    try fetch(in: coordinator)
    #expect(log.entries == ["Song"])
    let context = ManagedObjectContext(coordinator: coordinator)
    let count = try context.performAndWait { try context.count(for: FetchRequest<ManagedObject>(entityName: "Song")) }
    #expect(count == 0)
    #expect(log.entries == ["Song", "Song"])
    coordinator.removeFetchObserver(log)
    try fetch(in: coordinator)
    #expect(log.entries.count == 2)
  }

  @Test func `a fetch without reports and a refused fetch notify no observer`() throws {
    let (coordinator, log) = (try makeCoordinator(), Log())
    coordinator.addFetchObserver(log)
    try fetch(in: coordinator, isReported: false)
    let context = ManagedObjectContext(coordinator: coordinator)
    #expect {
      try context.performAndWait { try context.fetch(FetchRequest<ManagedObject>(entityName: "Film")).count }
    } throws: {
      ErrorCode.unknownEntity ~= $0
    }
    #expect(log.entries.isEmpty)
  }

  @Test func `an observer is not retained`() throws {
    let coordinator = try makeCoordinator()
    weak var released: Log?
    do {
      let log = Log()
      released = log
      coordinator.addFetchObserver(log)
    }
    #expect(released == nil)
    try fetch(in: coordinator)
  }
}
