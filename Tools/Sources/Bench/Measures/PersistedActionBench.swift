import Coherence
import CoherencePersistedActions
import Dispatch
import Foundation
import Logging
import Synchronization

/// A container with persisted actions, for one run of a measure.
struct PersistedActionBench {
  private struct NoOp: PersistedAction {
    func run(in context: PersistedActionContext) async throws {}
  }

  private typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>
  private let container: Container

  init(_ configuration: StoreConfiguration) throws {
    let model = try ManagedObjectModel { Entity("Item") { Attribute("id", .int64) } }.addingPersistedActions()
    container = Container(
      name: "PersistedActions", managedObjectModel: model,
      logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    try container.attachPersistentStore(for: configuration)
  }

  init(_ server: PostgreSQLServer, schema: String) throws {
    try self.init(.postgreSQL(at: server.url, schema: schema))
  }

  /// Measures the time in which four workers run a number of waiting actions.
  func throughput(_ count: Int) throws -> Sample {
    try enqueue(count)
    let options = PersistedActionOptions(concurrency: 4)
    let workers = try (0..<4).map { _ in
      try PersistedActionWorker(container, actions: [NoOp.self], options: options)
    }
    let streams = workers.map(\.events)
    return try waiting {
      let start = ContinuousClock.now
      for worker in workers { try await worker.start() }
      let finished = FinishedCount()
      await withTaskGroup(of: Void.self) { group in
        for stream in streams {
          group.addTask {
            for await event in stream {
              guard case .finished = event else { continue }
              if finished.increase() >= count { return }
            }
          }
        }
        _ = await group.next()
        group.cancelAll()
      }
      let duration = ContinuousClock.now - start
      for worker in workers { await worker.stop() }
      return Sample(amount: duration / .seconds(1), checksum: UInt64(count))
    }
  }

  /// Measures the 99th percentile of the times from a save to the start of its action.
  func latency(_ count: Int) throws -> Sample {
    let worker = try PersistedActionWorker(container, actions: [NoOp.self])
    let events = worker.events
    return try waiting { [container] in
      try await worker.start()
      var durations: [Duration] = []
      var iterator = events.makeAsyncIterator()
      for _ in 0..<count {
        let start = ContinuousClock.now
        try await container.performBackgroundTask { context in
          try context.enqueue(NoOp())
          try context.save()
        }
        while let event = await iterator.next() {
          if case .started = event { durations.append(ContinuousClock.now - start) }
          // Waits until the worker is idle, before the next save.
          if case .finished = event { break }
        }
      }
      await worker.stop()
      let slow = durations.sorted()[count * 99 / 100]
      return Sample(amount: slow / .seconds(1), checksum: UInt64(count))
    }
  }

  private func enqueue(_ count: Int) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for _ in 0..<count { try context.enqueue(NoOp()) }
      try context.save()
    }
  }

  /// Runs asynchronous work, and waits for it on the calling thread.
  private func waiting(_ work: @escaping @Sendable () async throws -> Sample) throws -> Sample {
    let done = DispatchSemaphore(value: 0)
    let result = ResultBox()
    Task {
      do { result.set(.success(try await work())) } catch { result.set(.failure(error)) }
      done.signal()
    }
    done.wait()
    return try result.get()
  }

  private final class ResultBox: Sendable {
    private let result = Mutex<Result<Sample, any Error>?>(nil)
    func set(_ value: Result<Sample, any Error>) { result.withLock { $0 = value } }
    func get() throws -> Sample {
      guard let result = result.withLock({ $0 }) else { throw BenchError("The measure did not run.") }
      return try result.get()
    }
  }
}

/// The number of finished actions of all workers.
private final class FinishedCount: Sendable {
  private let count = Mutex(0)

  /// Increments the count and returns it.
  func increase() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
