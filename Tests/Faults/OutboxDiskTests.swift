import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import GRDBSQLite
import Synchronization
import Testing

/// A disk that is full, at every write of a save with an entry, of a claim, and of an acknowledgement in turn.
@Suite struct OutboxDiskTests {
  @Test(arguments: [false, true])
  func `a full disk at any write of a save, a claim or an acknowledgement loses no edit, and none is applied twice`(
    isLasting: Bool
  ) async throws {
    var number = 1
    while try await isFull(at: number, isLasting) { number += 1 }
    #expect(number > 6, "Too few faults occurred for a meaningful test.")
  }

  /// Saves an edit and forwards it, on a disk that is full at a write.
  ///
  /// - Returns: Whether the disk was full.
  private func isFull(at number: Int, _ isLasting: Bool) async throws -> Bool {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let container = KillClient.Container(
      name: "Kills", managedObjectModel: KillModel.model, storeLocation: directory.url)
    try container.attachPersistentStore(for: StoreConfiguration(fileName: "store.sqlite", type: .sqlite))
    let outbox = try Outbox(container)
    let calls = Mutex<[UUID]>([])
    try outbox.forward(KillModel.note) { handlers in
      handlers.insert { request in
        calls.withLock { $0.append(request.idempotencyKey) }
        return .accepted(["id": "server"])
      }
    }
    disk.fail(Disk.Fault(call: .write, number: number, isLasting: isLasting, code: SQLITE_FULL))
    var isFull = false
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let note = try context.insertNewObject(forEntityName: KillModel.note)
      for (name, value) in ["id": "local", "tag": "note"] { try note.setValue(value, for: name) }
      try note.setValue(Int64(1), for: "rank")
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
    #expect(Set(calls.withLock { $0 }).count == 1)
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
    try outbox.start(
      ForwardOptions(retry: RetryPolicy(attempts: 1000, initialDelay: .zero, jitter: 0)))
    _ = try await outbox.flush()
    await outbox.stop()
    let wasFull = await isFull.value || disk.failures > 0
    disk.fail(nil)
    return wasFull
  }
}
