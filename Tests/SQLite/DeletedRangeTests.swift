import CoherenceCore
import CoherenceSQLite
import Foundation
import TestSupport
import Testing

/// The deletes of records of consecutive keys, which a SQLite store runs as one statement.
@Suite struct DeletedRangeTests {
  private let place: TemporaryStore
  private let store: any PersistentStore

  init() throws {
    place = try TemporaryStore()
    store = try place.open(PeopleModel.make())
  }

  /// Saves persons, whose names are their numbers from zero.
  private func insert(_ count: Int, in store: any PersistentStore) throws -> [Row] {
    let entity = store.entity("Person")
    let first = try store.allocateKeys(count, for: entity.root).lowerBound
    let rows = try (0..<count).map { number in
      try store.row("Person", ["name": .string("\(number)")], key: first + Int64(number))
    }
    try store.save(.insert(entity, rows))
    return rows
  }

  private func delete(_ rows: [Row]) -> SaveStep {
    .delete(store.entity("Person"), rows.map { RowDelete(id: $0.id, baseVersion: $0.version) })
  }

  private var names: [String] {
    get throws {
      try store.fetch("Person").compactMap { if case .string(let name) = $0["name"] { name } else { nil } }.sorted()
    }
  }

  @Test func `records of consecutive keys are deleted by one statement, in any order, and the others one by one`()
    throws
  {
    let stack = try LoggedStore(.sqlite, PeopleModel.make())
    defer { stack.close() }
    let rows = try insert(40, in: stack.store)
    func runs(_ deleted: [Row]) throws -> [StatementRun] {
      stack.log.removeAll()
      let deletes = deleted.map { RowDelete(id: $0.id, baseVersion: $0.version) }
      try stack.store.save(.delete(stack.store.entity("Person"), deletes))
      return stack.log.runs
    }
    #expect(try runs(Array(rows[0..<7])) == [StatementRun("DELETE", 7)])
    #expect(try runs(rows[7..<16].reversed()) == [StatementRun("DELETE", 1)])
    // A gap of one record between two ranges, and single records.
    let rest: [Row] = Array(rows[16..<24]) + Array(rows[25..<33]) + [rows[34], rows[36]]
    #expect(try runs(rest.shuffled()).map(\.times).sorted() == [1, 1, 2])
    #expect(try stack.store.fetch("Person").map(\.key).sorted() == [24, 33, 35, 37, 38, 39].map { rows[$0].key })
  }

  @Test(arguments: [0, 5, 19])
  func `a record at another version keeps a range of deleted records in the store, and is the only conflict`(
    changed: Int
  ) throws {
    let rows = try insert(20, in: store)
    try store.save(rows[changed].update(["name": .string("new")]))
    let failure = #expect(throws: StoreConflict.Failure.self) { try store.save(delete(rows)) }
    #expect(failure?.conflicts.map(\.id) == [rows[changed].id])
    #expect(failure?.conflicts.first?.storeRow?["name"] == .string("new"))
    #expect(try names.count == 20)
  }

  @Test func `a missing record keeps a range of deleted records in the store, and is the only conflict`() throws {
    let rows = try insert(20, in: store)
    try store.save(delete([rows[7]]))
    let failure = #expect(throws: StoreConflict.Failure.self) { try store.save(delete(rows)) }
    #expect(failure?.conflicts.map(\.id) == [rows[7].id])
    #expect(failure?.conflicts.first.map { $0.storeRow == nil } == true)
    #expect(try names.count == 19)
  }

  @Test func `the record of a range that another program refuses to delete is named, and no record is deleted`() throws
  {
    let rows = try insert(20, in: store)
    let other = try OtherProgram(place.path)
    try other.run(
      """
      CREATE TRIGGER refuse BEFORE DELETE ON Person WHEN OLD.name = '11' \
      BEGIN SELECT RAISE(ABORT, 'not this person'); END
      """)
    let error = #expect(throws: CoherenceError.self) { try store.save(delete(rows)) }
    #expect(error?.objectIDs == [rows[11].id])
    #expect(try names.count == 20)
  }

  @Test func `a save whose transaction a trigger of another program rolls back deletes no record of a range`() throws {
    let rows = try insert(20, in: store)
    let other = try OtherProgram(place.path)
    try other.run(
      """
      CREATE TRIGGER refuse BEFORE DELETE ON Person WHEN OLD.name = '11' \
      BEGIN SELECT RAISE(ROLLBACK, 'not this person'); END
      """)
    let error = #expect(throws: CoherenceError.self) { try store.save(delete(rows)) }
    #expect(error?.code == .invalidValue)
    #expect(try names.count == 20)
  }

  @Test func `a record of a range that another program keeps is the conflict, and no record is deleted`() throws {
    let rows = try insert(20, in: store)
    let other = try OtherProgram(place.path)
    try other.run(
      "CREATE TRIGGER keep BEFORE DELETE ON Person WHEN OLD.name = '11' BEGIN SELECT RAISE(IGNORE); END")
    let failure = #expect(throws: StoreConflict.Failure.self) { try store.save(delete(rows)) }
    #expect(failure?.conflicts.map(\.id) == [rows[11].id])
    #expect(try names.count == 20)
  }

  @Test func `records of a range with several versions are deleted at their versions`() throws {
    let rows = try insert(30, in: store)
    let changed = try rows[10..<20].map { (row: Row) -> Row in
      try store.save(row.update(["name": .string("new")]))
      return try #require(try store.current(row))
    }
    try store.save(delete(Array(rows[0..<10]) + changed + Array(rows[20...])))
    #expect(try names == [])
  }
}
