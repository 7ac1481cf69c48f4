import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import GRDBSQLite
import Synchronization
import Testing

/// An outbox on a full disk. The disk becomes full at each write of a save, of a claim and of an acknowledgement in
/// turn.
@Suite struct OutboxDiskTests {
  @Test(arguments: [false, true])
  func `a full disk at any write of a save, a claim or an acknowledgement loses no edit, and none is applied twice`(
    isLasting: Bool
  ) async throws {
    var number = 1
    while try await isFull(at: number, isLasting) { number += 1 }
    #expect(number > 6, "Too few faults occurred for a meaningful test.")
  }

  @Test func `a flush waits while searches fail, and ends after the edit is sent`() async throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let container = try container(in: directory)
    let outbox = try Outbox(container)
    let calls = try answeringInserts(of: outbox)
    outbox.pause()
    try outbox.start(ForwardOptions(retry: RetryPolicy(attempts: 1000, initialDelay: .zero, jitter: 0)))
    try container.newBackgroundContext().performAndWait { context in
      try Self.insertNote(in: context)
      try context.save()
    }
    var events = outbox.events.makeAsyncIterator()
    disk.fail(Disk.Fault(call: .write, number: 1, isLasting: true, code: SQLITE_FULL))
    outbox.resume()
    let flush = Task { try await outbox.flush() }
    var failures = 0
    while failures < 5, let event = await events.next() {
      if case .failed = event { failures += 1 }
    }
    disk.fail(nil)
    #expect(try await flush.value == 0)
    #expect(calls.keys.count == 1)
    await outbox.stop()
  }

  private func container(in directory: TemporaryDirectory) throws -> KillClient.Container {
    let container = KillClient.Container(
      name: "Kills", managedObjectModel: KillModel.model, storeLocation: directory.url)
    try container.attachPersistentStore(for: StoreConfiguration(fileName: "store.sqlite", type: .sqlite))
    return container
  }

  /// The idempotency keys of the inserts that the server has received.
  private final class Calls: Sendable {
    private let state = Mutex<[UUID]>([])
    var keys: [UUID] { state.withLock { $0 } }
    func append(_ key: UUID) { state.withLock { $0.append(key) } }
  }

  /// Registers a server that accepts every insert.
  private func answeringInserts(of outbox: Outbox) throws -> Calls {
    let calls = Calls()
    try outbox.forward(KillModel.note) { handlers in
      handlers.insert { request in
        calls.append(request.idempotencyKey)
        return .accepted(["id": "server"])
      }
    }
    return calls
  }

  private static func insertNote(in context: ManagedObjectContext) throws {
    let note = try context.insertNewObject(forEntityName: KillModel.note)
    for (name, value) in ["id": "local", "tag": "note"] { try note.setValue(value, for: name) }
    try note.setValue(Int64(1), for: "rank")
  }

  /// Saves an edit and forwards it. The disk becomes full at a write.
  ///
  /// - Returns: Whether the disk was full.
  private func isFull(at number: Int, _ isLasting: Bool) async throws -> Bool {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let container = try container(in: directory)
    let outbox = try Outbox(container)
    let calls = try answeringInserts(of: outbox)
    disk.fail(Disk.Fault(call: .write, number: number, isLasting: isLasting, code: SQLITE_FULL))
    var isFull = false
    let context = container.newBackgroundContext()
    try context.performAndWait {
      try Self.insertNote(in: context)
      do {
        try context.save()
      } catch ErrorCode.storeFull {
        // Neither the record nor its entry is saved; both are saved once space is free again.
        isFull = disk.failures > 0
        disk.fail(nil)
        try context.save()
      }
    }
    isFull = try await forward(outbox, disk) || isFull
    #expect(Set(calls.keys).count == 1)
    #expect(try await outbox.counts().total == 0)
    let ids = try context.performAndWait {
      context.reset()
      return try context.fetch(FetchRequest<ManagedObject>(entityName: KillModel.note))
        .map { try $0.value(for: "id", as: String.self) }
    }
    #expect(ids == ["server"])
    return isFull
  }

  /// Forwards everything. The first failure of the store frees the disk.
  ///
  /// - Returns: Whether the disk was full.
  private func forward(_ outbox: Outbox, _ disk: Disk) async throws -> Bool {
    let events = outbox.events
    let isFull = Task {
      var isFull = false
      for await event in events {
        if case .failed = event {
          isFull = isFull || disk.failures > 0
          disk.fail(nil)
        }
        if case .stopped = event { break }
      }
      return isFull
    }
    // More attempts than fit into the time until the task above frees the disk.
    try outbox.start(
      ForwardOptions(retry: RetryPolicy(attempts: 1_000_000, initialDelay: .zero, jitter: 0)))
    _ = try await outbox.flush()
    await outbox.stop()
    let wasFull = await isFull.value || disk.failures > 0
    disk.fail(nil)
    return wasFull
  }
}
