import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// The statements of migrations, whose number of steps grows with the number of records alone.
@Suite struct MigrationStatementTests {
  private let place: TemporaryStore
  init() throws { place = try TemporaryStore() }

  @Test func `values are derived from members after the index by which the members are found is made`() throws {
    func model(_ length: AttributeType, deriving: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel {
        Entity("Album") {
          if deriving { Attribute("trackCount", .int64, derived: .count("tracks")) }
          Relationship("tracks", toMany: "Track", inverse: "album")
        }
        Entity("Track") {
          Attribute("length", length, optional: true)
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
      }
    }
    try place.open(model(.int64, deriving: false)).close()
    // Another type of an attribute makes all indexes of its table anew.
    let environment = place.environment(try model(.int16, deriving: true))
    let statements = try #require(try SQLiteStoreFactory().migrationPreview(environment)).statements
    let index = try #require(
      statements.firstIndex { $0.hasPrefix("CREATE INDEX") && $0.contains("(\"album\"") })
    let count = try #require(statements.firstIndex { $0.hasPrefix("UPDATE") && $0.contains("COUNT(*)") })
    #expect(index < count, "\(statements)")
  }

  @Test func `records of a left-out subentity are deleted before the index of the references to them is dropped`()
    throws
  {
    func model(_ size: AttributeType, withSubentity: Bool) throws -> ManagedObjectModel {
      let item = Entity("Item") {
        Attribute("size", size, optional: true)
        Relationship("parts", toMany: "Item", inverse: "whole")
        Relationship("whole", toOne: "Item", inverse: "parts")
      }
      return try ManagedObjectModel(entities: [item] + (withSubentity ? [Entity("Box", parent: "Item")] : []))
    }
    let store = try place.open(model(.int64, withSubentity: true))
    let box = try store.insert("Box")
    try store.insert("Item", ["whole": .reference(box.id)])
    store.close()
    let environment = place.environment(
      try model(.int16, withSubentity: false), options: [StoreOption.allowsDataLoss: true])
    let statements = try #require(try SQLiteStoreFactory().migrationPreview(environment)).statements
    let delete = try #require(statements.firstIndex { $0.hasPrefix("DELETE FROM") })
    let index = try #require(statements.firstIndex { $0.hasPrefix("DROP INDEX") && $0.contains("whole") })
    #expect(delete < index, "\(statements)")
    let migrated = try SQLiteStoreFactory().open(environment)
    #expect(try migrated.fetch("Item").map { $0["whole"] } == [.null])
    migrated.close()
  }

  @Test func `a migration that computes values of several entities reads the records by their keys without a sort`()
    throws
  {
    func model(deriving: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel {
        Entity("Item") {
          Attribute("name", .string)
          if deriving { Attribute("upper", .string, optional: true, derived: .uppercase("name")) }
        }
        Entity("Book", parent: "Item")
        Entity("Map", parent: "Item")
      }
    }
    let store = try place.open(model(deriving: false))
    for name in ["Item", "Book", "Map"] { try store.insert(name, ["name": .string(name)]) }
    store.close()
    let log = MessageLog()
    var environment = place.environment(try model(deriving: true))
    environment.logger = log.logger
    try SQLiteStoreFactory().open(environment).close()
    let read = try #require(log.reads.first { $0.contains("FROM \"Item\"") && $0.contains("LIMIT") })
    // The message has the duration behind the statement.
    let statement = try #require(read.components(separatedBy: " [").first).replacingOccurrences(of: "?", with: "'1'")
    let plan = try DatabaseQueue(path: place.path).read { database in
      try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(statement)").map { $0["detail"] as String }
    }
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
  }
}
