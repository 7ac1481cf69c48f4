import CoherenceCore
import TestSupport
import Testing

/// The statements of batch inserts that update or ignore duplicates, in the logs of SQL stores.
@Suite struct UpsertStatementTests {
  /// A batch insert of tracks by their ISRC.
  private struct Upsert {
    let result: BatchInsertResult
    /// The statements that write tracks.
    let writes: [String]
    /// The statements that read tracks.
    let reads: [String]
  }

  private func openStore(_ backend: Backend) throws -> LoggedStore {
    try LoggedStore(
      backend,
      ManagedObjectModel {
        Entity("Track", uniqueness: [["isrc"]]) {
          Attribute("isrc", .string)
          Attribute("title", .string)
        }
      })
  }

  /// Executes an upsert of tracks with a title for each number.
  private func upsert(
    _ numbers: Range<Int>, into store: LoggedStore, policy: BatchInsertRequest.DuplicatePolicy = .update(by: "isrc"),
    title: (Int) -> String
  ) throws -> Upsert {
    let rows = numbers.map { number in
      ["isrc": .string("\(number)"), "title": .string(title(number))] as [String: AttributeValue]
    }
    let request = BatchInsertRequest(entityName: "Track", rows: rows, onDuplicate: policy)
    store.log.removeAll()
    let result = try store.context().performAndWait { context in try context.execute(request) }
    let writes = store.log.messages.filter { message in
      [#"INSERT INTO "Track""#, #"UPDATE "Track""#, #"COPY "Track""#].contains { message.hasPrefix($0) }
    }
    return Upsert(result: result, writes: writes, reads: store.log.reads.filter { $0.contains(#""Track" AS"#) })
  }

  @Test(arguments: Backend.availableSQL)
  func `a batch insert that updates duplicates is left to the engine, without a read of the stored records`(
    backend: Backend
  ) throws {
    let store = try openStore(backend)
    let first = try upsert(0..<1_000, into: store) { "title \($0)" }
    #expect(first.result.inserted.count == 1_000 && first.result.updated.isEmpty)
    let second = try upsert(500..<1_500, into: store) { $0.isMultiple(of: 2) ? "changed" : "title \($0)" }
    #expect(second.result.inserted.count == 500 && second.result.updated.count == 250)
    for upsert in [first, second] {
      #expect(upsert.reads.isEmpty)
      #expect(
        upsert.writes.allSatisfy { $0.contains(#"ON CONFLICT ("isrc") DO UPDATE SET "#) }, "\(upsert.writes)")
      // A statement of SQLite has thirty-two rows.
      #expect(upsert.writes.count == (backend == .sqlite ? 32 : 1), "\(upsert.writes.count)")
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a batch insert that ignores duplicates is one statement`(backend: Backend) throws {
    let store = try openStore(backend)
    _ = try upsert(0..<10, into: store) { "title \($0)" }
    let second = try upsert(5..<15, into: store, policy: .ignore(by: "isrc")) { _ in "changed" }
    #expect(second.result.inserted.count == 5 && second.result.updated.isEmpty)
    #expect(second.reads.isEmpty)
    #expect(second.writes.count == 1)
    #expect(second.writes.allSatisfy { $0.contains(#"ON CONFLICT ("isrc") DO NOTHING"#) }, "\(second.writes)")
  }
}
