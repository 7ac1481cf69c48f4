import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct SchemaTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  @Test func `a store keeps its identity when it is opened again`() throws {
    let model = try PeopleModel.make()
    let factory = PostgreSQLStoreFactory()
    #expect(try factory.metadata(schema.environment(model)) == nil)
    let store = try schema.open(model)
    let row = try store.insert("Person", ["name": .string("x")])
    try store.setUserInfo(["a": "b"])
    store.close()
    let again = try schema.open(model)
    #expect(again.identifier == store.identifier)
    #expect(try again.metadata().userInfo == ["a": "b"])
    #expect(try factory.metadata(schema.environment(model)) == again.metadata())
    #expect(try again.fetch("Person").map(\.values) == [row.values])
  }

  @Test func `a store on a server is durable and shared, reads during a save, and has no file`() throws {
    #expect(try schema.open(try PeopleModel.make()).capabilities == [.durable, .shared, .concurrentReads])
  }

  @Test func `processes that create a store at the same time create one store`() async throws {
    let model = try PeopleModel.make()
    let schema = schema
    let identifiers = try await withThrowingTaskGroup(of: StoreIdentifier.self) { group in
      for _ in 0..<4 { group.addTask { try schema.open(model).identifier } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(identifiers.count == 1)
  }

  @Test func `a schema with tables of another program is refused`() throws {
    _ = try schema.administration().run(
      ["CREATE SCHEMA \(name: schema.name)", "CREATE TABLE \(name: schema.name).\(name: "Person") (a integer)"],
      isPrepared: false)
    let error = #expect(throws: CoherenceError.self) { try schema.open(PeopleModel.make()) }
    #expect(error?.code == .notADatabase)
    #expect(try PostgreSQLStoreFactory().metadata(schema.environment(PeopleModel.make())) == nil)
  }

  @Test func `setting a store aside makes room for another store, and the first can be opened again`() throws {
    let model = try PeopleModel.make()
    let store = try schema.open(model)
    try store.insert("Person", ["name": .string("kept")])
    store.close()
    let place = try PostgreSQLStoreFactory().setAside(schema.environment(model))
    let target = try #require(place.split(separator: "'").last.map(String.init))
    defer { _ = try? schema.administration().run("DROP SCHEMA \(name: target) CASCADE", isPrepared: false) }
    let fresh = try schema.open(model)
    #expect(fresh.identifier != store.identifier)
    #expect(try fresh.fetch("Person").isEmpty)
    let old = try schema.open(model, options: [PostgreSQLOption.schema: .string(target)])
    #expect(old.identifier == store.identifier)
    #expect(try old.fetch("Person").map { $0["name"] } == [.string("kept")])
  }

  @Test(arguments: [false, true])
  func `a store in whose place another program has made another store fails to write, and changes nothing there`(
    isConnectedAgain: Bool
  ) throws {
    let model = try PeopleModel.make()
    let store = try schema.openNamed(model)
    let row = try store.insert("Person", ["name": .string("former")])
    try PostgreSQLStoreFactory().erase(schema.environment(model))
    let other = try schema.open(model)
    // Neither the key nor the version tells the records of the two stores apart.
    let theirs = try other.insert("Person", ["name": .string("theirs")])
    #expect(theirs.key == row.key)
    #expect(theirs.version == row.version)
    if isConnectedAgain { try schema.terminateConnections() }
    let uses: [() throws -> Void] = [
      { try store.save(row.update(["name": .string("edited")])) }, { _ = try store.insert("Person") },
      { try store.setUserInfo(["a": "b"]) }, { _ = try store.metadata() },
    ]
    for use in uses {
      let error = #expect(throws: CoherenceError.self) { try use() }
      #expect(error?.code == .schemaChanged)
      #expect(error?.outcome == .notApplied)
    }
    #expect(try other.fetch("Person").map { $0["name"] } == [.string("theirs")])
    #expect(try other.metadata().userInfo.isEmpty)
    try other.save(theirs.update(["name": .string("saved")]))
    // The store that is there now is the one that an attachment finds.
    store.close()
    #expect(try schema.open(model).identifier == other.identifier)
  }

  @Test func `reserved names of the server are valid names`() throws {
    let names = [
      "text", "uuid", "pg_class", "ctid", "select", "a\"b", "Ä.ö", String(repeating: "long", count: 30),
      String(repeating: "long", count: 30) + "er",
    ]
    let model = try ManagedObjectModel(
      entities: names.map { name in
        Entity(name, uniqueness: [["ctid"]]) {
          for attribute in names { Attribute(attribute, .string, optional: true) }
          Relationship("one", toOne: name, inverse: "many")
          Relationship("many", toMany: name, inverse: "one")
          Relationship("all", toMany: name, inverse: "all")
        }
      })
    let store = try schema.open(model)
    for name in names {
      let values = Dictionary(uniqueKeysWithValues: names.map { ($0, AttributeValue.string($0)) })
      let row = try store.insert(name, values)
      #expect(try store.fetch(name, where: .path(names[2], .equal, .string(names[2]))).map(\.values) == [row.values])
    }
    store.close()
    #expect(try schema.open(model).fetch("text").count == 1)
  }

  @Test func `an entity may have the name of the table of commits`() throws {
    let name = PostgreSQLCommitMark.table
    let model = try ManagedObjectModel { Entity(name) { Attribute("number", .int64) } }
    let store = try schema.open(model)
    let row = try store.insert(name, ["number": .int(1)])
    #expect(try store.fetch(name).map(\.values) == [row.values])
  }

  @Test func `an added attribute gets its default, and a left-out attribute stays`() throws {
    let store = try schema.open(PeopleModel.make())
    try store.insert("Person", ["name": .string("x")])
    store.close()
    let model = try PeopleModel.makeLater()
    let refused = #expect(throws: CoherenceError.self) {
      try schema.open(model, options: [StoreOption.migrateAutomatically: false])
    }
    #expect(refused?.code == .incompatibleModel)
    let migrated = try schema.open(model)
    #expect(migrated.identifier == store.identifier)
    #expect(try migrated.fetch("Person").map { $0["age"] } == [.int(7)])
  }

  @Test func `an added date gets its default, in every year that the server can store`() throws {
    let store = try schema.open(PeopleModel.make())
    try store.insert("Person")
    store.close()
    let seconds = [-210_866_803_200, -62_135_596_800, -90_000.25, 0.5, 1_700_000_000.25, 9_100_000_000_000]
    let model = try ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string, optional: true)
        for (index, number) in seconds.enumerated() {
          Attribute("date\(index)", .date, default: Date(timeIntervalSince1970: number))
        }
        Relationship("boss", toOne: "Person", inverse: "staff")
        Relationship("staff", toMany: "Person", inverse: "boss", ordered: true)
      }
    }
    let migrated = try schema.open(model)
    let row = try #require(try migrated.fetch("Person").first)
    let new = try migrated.row("Person")
    for index in seconds.indices { #expect(row["date\(index)"] == new["date\(index)"]) }
  }

  @Test func `an index has the sort order of fetches`() throws {
    let model = try ManagedObjectModel {
      Entity("Person", indexes: [["name"]]) { Attribute("name", .string, optional: true) }
    }
    let store = try schema.open(model)
    let rows = try (0..<2000).map { try store.row("Person", ["name": .string("\($0)")]) }
    try store.save(.insert(store.entity("Person"), rows))
    let administration = try schema.administration()
    try administration.run("ANALYZE \(name: "Person")", isPrepared: false)
    for direction in [" NULLS FIRST", " DESC NULLS LAST"] as [SQLFragment] {
      let plan = try administration.run(
        """
        EXPLAIN SELECT \(name: "$id") FROM \(name: "Person") \
        ORDER BY \(name: "name")\(direction), \(name: "$id") LIMIT 3
        """, isPrepared: false)
      let lines = (0..<plan.rowCount).compactMap { plan.text($0, 0) }
      #expect(lines.contains { $0.contains("Index") })
    }
  }
}
