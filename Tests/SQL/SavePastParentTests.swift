import CoherenceCore
import Synchronization
import TestSupport
import Testing

/// The reads of saves past a parent, in the logs of SQL stores.
@Suite struct SavePastParentTests {
  private static let request = FetchRequest<ManagedObject>(entityName: "Note")

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel { Entity("Note") { Attribute("number", .int64) } }
  }

  /// Changes the objects of a stream in a child, and saves past the parent. Returns the number of reads of the save.
  private func readCount(forStreamedEditsOf noteCount: Int, in backend: Backend) async throws -> Int {
    let stack = try LoggedStore(backend, Self.model())
    defer { stack.close() }
    try stack.write { context in
      for number in 0..<noteCount {
        try context.insertNewObject(forEntityName: "Note").setValue(Int64(number), for: "number")
      }
    }
    let child = ManagedObjectContext(parent: stack.context())
    child.savesPastParent = true
    let count = Mutex(0)
    try await child.forEachBatch(of: Self.request, batchSize: noteCount, unreadLimit: .seconds(3600)) { notes in
      for note in notes { try note.setValue(Int64(-1), for: "number") }
      stack.log.removeAll()
      try notes.first?.managedObjectContext?.save()
      count.withLock { $0 += stack.log.reads.count }
    }
    let reader = stack.context()
    let saved = try reader.performAndWait {
      try reader.count(for: Self.request.filter(FetchPredicate(format: "number == -1")))
    }
    #expect(saved == noteCount)
    return count.withLock { $0 }
  }

  @Test(arguments: Backend.availableSQL)
  func `a save past a parent reads the rows of all streamed objects together`(backend: Backend) async throws {
    let few = try await readCount(forStreamedEditsOf: 10, in: backend)
    let many = try await readCount(forStreamedEditsOf: 300, in: backend)
    #expect(many <= few + 4, "\(few) \(many)")
  }
}
