import Coherence
import CoherenceOutbox
import Foundation
import Logging
import Synchronization

/// A SQLite store of people whose changes an outbox may record.
final class OutboxStore {
  let container: GenericPersistentContainer<ContextStrategy.DirectIndependent>
  /// The outbox; `nil` for the same store without recording.
  let outbox: Outbox?

  private static let model = Result {
    try ManagedObjectModel { PersonObject.entityDeclaration }.addingOutbox()
  }

  init(file: URL, records isRecording: Bool, synchronous: String = "off") throws {
    container = GenericPersistentContainer(
      name: "Outbox", managedObjectModel: try Self.model.get(), storeLocation: file.deletingLastPathComponent(),
      logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    try container.attachPersistentStore(
      for: StoreConfiguration(
        fileName: file.lastPathComponent, type: .sqlite, options: [SQLiteOption.synchronous: .string(synchronous)]))
    outbox = isRecording ? try Outbox(container, entities: ["Person"]) : nil
  }

  func close() throws { try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores) }

  /// Inserts people in saves of a size.
  func insert(_ people: some Collection<Person>, perSave size: Int) throws {
    var rest = people[...]
    while !rest.isEmpty {
      let context = container.newBackgroundContext()
      let part = Array(rest.prefix(size))
      try context.performAndWait { _ = try context.insert(part) }
      rest = rest.dropFirst(size)
    }
  }

  /// Runs asynchronous work, and blocks until its end.
  static func wait<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) throws -> T {
    let done = DispatchSemaphore(value: 0)
    let result = ResultBox<T>()
    Task.detached {
      do {
        result.set(.success(try await work()))
      } catch {
        result.set(.failure(error))
      }
      done.signal()
    }
    done.wait()
    return try result.get()
  }
}

/// The result of asynchronous work.
private final class ResultBox<T: Sendable>: Sendable {
  private let content = Mutex<Result<T, any Error>?>(nil)

  func set(_ result: Result<T, any Error>) { content.withLock { $0 = result } }

  func get() throws -> T {
    guard let result = content.withLock({ $0 }) else { throw BenchError("The work has no result.") }
    return try result.get()
  }
}
