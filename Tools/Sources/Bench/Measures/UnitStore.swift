import Coherence
import CoherencePostgreSQL
import Foundation
import Logging
import Synchronization

/// A container whose tasks do small units of work, each in a context of its own: fetch one record, change it, save.
final class UnitStore: Sendable {
  private let container: GenericPersistentContainer<ContextStrategy.Direct>
  private let ids: [ManagedObjectID]
  private static let recordCount = 1_024

  init(_ configuration: StoreConfiguration, at location: URL) throws {
    container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Units", managedObjectModel: try ManagedObjectModel { PersonObject.entityDeclaration },
      logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
    try container.attachPersistentStore(at: location, for: configuration)
    let people = PersonGenerator.people(Self.recordCount)
    let context = container.newBackgroundContext()
    ids = try context.performAndWait { try context.insert(people).map(\.objectID) }
  }

  func remove() throws { try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores) }

  /// Runs units of work in a number of concurrent tasks.
  func run(_ units: Int, by count: Int) throws -> Sample {
    let done = DispatchSemaphore(value: 0)
    let outcome = FirstFailure()
    let start = ContinuousClock.now
    Task.detached { [self] in
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<count {
          group.addTask { await outcome.note { try await self.work(task, of: count, units) } }
        }
      }
      done.signal()
    }
    done.wait()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try outcome.check()
    return Sample(amount: seconds)
  }

  /// Each task updates different records, because this measure excludes conflicts.
  private func work(_ task: Int, of count: Int, _ units: Int) async throws {
    for unit in stride(from: task, to: units, by: count) {
      let id = ids[(unit % (ids.count / count)) * count + task]
      try await container.performBackgroundTask { context in
        (try context.existingObject(with: id) as? PersonObject)?.age = unit
        try context.save()
      }
    }
  }
}

/// The first error of several tasks.
private final class FirstFailure: Sendable {
  private let failure = Mutex<(any Error)?>(nil)

  func note(_ work: () async throws -> Void) async {
    do {
      try await work()
    } catch {
      failure.withLock { $0 = $0 ?? error }
    }
  }

  func check() throws { if let failure = failure.withLock({ $0 }) { throw failure } }
}
