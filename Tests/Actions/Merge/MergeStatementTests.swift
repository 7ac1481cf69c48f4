import CoherenceActions
import CoherenceCore
import Foundation
import TestSupport
import Testing

/// The statements of merges into 1,000 stored records of a SQLite store.
@Suite("Statements of merges")
struct MergeStatementTests {
  private let log = MessageLog()
  private let stack: MergeStack

  init() throws { stack = try MergeStack(.sqlite, logger: log.logger) }

  /// Stores 1,000 genres, and forgets the statements.
  private func fill() throws {
    try stack.merge(Self.genres { _ in 0 }, into: "Genre")
    log.removeAll()
  }

  private static func genres(rank: (Int) -> Int) -> [MergeRecord] {
    (0..<1_000).map { MergeRecord(["name": "genre \($0)", "rank": rank($0)]) }
  }

  @Test func `a merge of 1,000 new records inserts 32 rows with each run of a statement`() throws {
    log.removeAll()
    #expect(try stack.merge(Self.genres { _ in 0 }, into: "Genre").inserted == 1_000)
    #expect(log.runs == [StatementRun("INSERT", 31), StatementRun("INSERT", 8)])
  }

  @Test func `a replacing merge of 1,000 equal records reads once and writes nothing`() throws {
    try fill()
    #expect(try stack.merge(Self.genres { _ in 0 }, into: "Genre").unchanged == 1_000)
    #expect(log.reads.count == 1, "\(log.reads)")
    #expect(log.runs == [])
  }

  @Test func `a merge of 1,000 equal records counts the stored records, reads once, and writes nothing`() throws {
    try fill()
    let result = try stack.merge(Self.genres { _ in 0 }, into: "Genre", options: MergeOptions())
    #expect(result.unchanged == 1_000)
    #expect(log.reads.count == 2, "\(log.reads)")
    #expect(log.runs == [])
  }

  @Test func `a replacing merge of 1,000 records with ten changes reads once and runs ten updates`() throws {
    try fill()
    let result = try stack.merge(Self.genres { $0.isMultiple(of: 100) ? 1 : 0 }, into: "Genre")
    #expect(result.updated == 10 && result.unchanged == 990)
    #expect(log.reads.count == 1, "\(log.reads)")
    #expect(log.runs == [StatementRun("UPDATE", 10)])
  }

  @Test func `the tombstones of 300 albums of two labels are two conditions of a read`() throws {
    let numbers = 0..<300
    try stack.merge(numbers.map { MergeRecord(["label": "\($0 % 2)", "number": $0]) }, into: "Album")
    log.removeAll()
    let page = DeltaPage(tombstones: numbers.map { MergeKey("\($0 % 2)", $0) })
    let result = try stack.connect.newActionContext().merge(page, for: try stack.entity("Album"))
    #expect(result.deleted == 300)
    #expect(log.reads.first?.components(separatedBy: " OR ").count == 2)
  }

  @Test func `a merge that deletes parents and keeps their children reads the children of all parents together`() throws
  {
    let model = try ManagedObjectModel {
      Entity("Task", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("parent", toOne: "Task", inverse: "subtasks")
        Relationship("subtasks", toMany: "Task", inverse: "parent", deleteRule: .cascade)
      }
    }
    let stack = try MergeStack(.sqlite, model, logger: log.logger)
    func reads(_ count: Int) throws -> Int {
      let parents = (0..<count).map { MergeRecord(["id": $0]) }
      let children = (0..<count).map { MergeRecord(["id": count + $0, "parent": $0]) }
      try stack.merge(parents + children, into: "Task")
      log.removeAll()
      let result = try stack.merge((0..<count).map { MergeRecord(["id": count + $0]) }, into: "Task")
      #expect(result.unchanged == count && result.deleted == count)
      return log.reads.count
    }
    let few = try reads(10)
    let many = try reads(100)
    #expect(many <= few + 2, "\(few) \(many)")
  }

  @Test func `a merge reads 500 keys by one query, and counts the stored records before it reads more keys`() throws {
    func genres(_ count: Int) -> [MergeRecord] { (0..<count).map { MergeRecord(["name": "genre \($0)"]) } }
    try stack.merge(genres(2_005), into: "Genre")
    func reads(_ count: Int) throws -> Int {
      log.removeAll()
      #expect(try stack.merge(genres(count), into: "Genre", options: MergeOptions()).unchanged == count)
      return log.reads.count
    }
    #expect(try reads(500) == 1)
    // With more than four stored records for each key, two queries by key cost less than one pass over all records.
    #expect(try reads(501) == 3)
    #expect(try reads(502) == 2)
  }
}
