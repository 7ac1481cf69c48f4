import CoherenceCore
import CoherenceSQLite
import TestSupport
import Testing

/// The statements of a batch insert that updates duplicates, in the log of a SQLite store.
@Suite struct UpsertStatementTests {
  private let place: TemporaryStore
  private let log = MessageLog()
  private let context: ManagedObjectContext

  init() throws {
    place = try TemporaryStore()
    let model = try ManagedObjectModel {
      Entity("Track", uniqueness: [["isrc"]]) {
        Attribute("isrc", .string)
        Attribute("title", .string)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Executes an upsert of tracks by their ISRC, with a title for each number, and returns the texts of its statements
  /// that write tracks, and of those that read them.
  private func upsert(
    _ numbers: Range<Int>, policy: BatchInsertRequest.DuplicatePolicy = .update(by: "isrc"), title: (Int) -> String
  ) throws -> (result: BatchInsertResult, writes: [String], reads: [String]) {
    let rows = numbers.map { number in
      ["isrc": .string("\(number)"), "title": .string(title(number))] as [String: AttributeValue]
    }
    let request = BatchInsertRequest(entityName: "Track", rows: rows, onDuplicate: policy)
    return try context.performAndWait {
      log.removeAll()
      let result = try context.execute(request)
      let writes = log.messages.filter { $0.hasPrefix(#"INSERT INTO "Track""#) || $0.hasPrefix(#"UPDATE "Track""#) }
      return (result, writes, log.reads.filter { $0.contains(#""Track" AS"#) })
    }
  }

  @Test func `a batch insert that updates duplicates is left to SQLite, without a read of the stored records`() throws {
    let first = try upsert(0..<1_000) { "title \($0)" }
    #expect(first.result.inserted.count == 1_000 && first.result.updated.isEmpty)
    let second = try upsert(500..<1_500) { $0.isMultiple(of: 2) ? "changed" : "title \($0)" }
    #expect(second.result.inserted.count == 500 && second.result.updated.count == 250)
    for (_, writes, reads) in [first, second] {
      #expect(reads.isEmpty)
      #expect(writes.allSatisfy { $0.contains(#"ON CONFLICT ("isrc") DO UPDATE SET "#) }, "\(writes)")
      // Thirty-two rows in a statement.
      #expect(writes.count == 32, "\(writes.count)")
    }
  }

  @Test func `a batch insert that ignores duplicates is left to SQLite`() throws {
    _ = try upsert(0..<10) { "title \($0)" }
    let second = try upsert(5..<15, policy: .ignore(by: "isrc")) { _ in "changed" }
    #expect(second.result.inserted.count == 5 && second.result.updated.isEmpty)
    #expect(second.reads.isEmpty)
    #expect(second.writes.count == 1)
    #expect(second.writes.allSatisfy { $0.contains(#"ON CONFLICT ("isrc") DO NOTHING"#) }, "\(second.writes)")
  }
}
