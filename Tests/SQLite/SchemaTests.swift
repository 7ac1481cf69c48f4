import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

@Suite struct SchemaTests {
  private let place: TemporaryStore
  init() throws { place = try TemporaryStore() }

  private func tableNames() throws -> Set<String> {
    let queue = try DatabaseQueue(path: place.path)
    return try queue.read { try Set(String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")) }
  }

  @Test func `tables and columns are named as entities and properties`() throws {
    let model = try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string)
        Relationship("artist", toOne: "Artist", inverse: "albums")
      }
    }
    try place.open(model).close()
    #expect(try tableNames().isSuperset(of: ["Artist", "Album", "$coherence", "$keys"]))
    let queue = try DatabaseQueue(path: place.path)
    let columns = try queue.read { try $0.columns(in: "Album").map(\.name) }
    #expect(columns == ["$id", "$version", "$entity", "title", "artist"])
    let keys = try queue.read { try $0.foreignKeys(on: "Album") }
    #expect(keys.map(\.destinationTable) == ["Artist"])
  }

  @Test func `names that SQL would trip over keep their records`() throws {
    let long = String(repeating: "n", count: 70)
    let names = [
      "select", "a \"quoted\" name", "it's", "🦊", "Name", "name", long, "$id", "$version", "rowid", "a.b",
      "a\"\u{301}", "b'\u{301}",
    ]
    let model = try ManagedObjectModel(
      entities: [
        Entity("sqlite_master") { for name in names { Attribute(name, .string, optional: true) } },
        Entity("ORDER \"by\"; DROP TABLE x", uniqueness: [["Name"]], indexes: [["name"]]) {
          Attribute("Name", .string, optional: true)
          Attribute("name", .int64, optional: true)
        },
        Entity("order \"BY\"; drop table X") { Attribute("x", .bool, optional: true) },
      ])
    let store = try place.open(model)
    let values = Dictionary(uniqueKeysWithValues: names.map { ($0, AttributeValue.string("value of \($0)")) })
    let row = try store.insert("sqlite_master", values)
    let other = try store.insert("ORDER \"by\"; DROP TABLE x", ["Name": .string("a"), "name": .int(1)])
    try store.insert("order \"BY\"; drop table X", ["x": .bool(true)])
    store.close()

    let again = try place.open(model)
    for name in names {
      let found = try again.fetch("sqlite_master", where: .path(name, .equal, .string("value of \(name)")))
      #expect(found.map(\.id) == [row.id], "\(name)")
      #expect(found.first?[name] == .string("value of \(name)"))
    }
    #expect(try again.current(other)?["name"] == .int(1))
    #expect(try again.fetch("order \"BY\"; drop table X").count == 1)
  }

  @Test func `a batch delete hides no entity behind its table of keys`() throws {
    let store = try place.open(try ManagedObjectModel { Entity("$chosen") { Attribute("name", .string) } })
    try store.insert("$chosen", ["name": .string("a")])
    let row = try store.insert("$chosen", ["name": .string("b")])
    let batch = try #require(store as? any BatchExecuting)
    let query = StoreQuery(entity: store.entity("$chosen"), predicate: .path("name", .equal, .string("b")))
    #expect(try batch.batchDelete(query)?.deleted == [row.id])
    try store.insert("$chosen", ["name": .string("c")])
    #expect(try store.fetch("$chosen").count == 2)
  }

  @Test func `subentities share a table and siblings may use one name for different attributes`() throws {
    let model = try ManagedObjectModel {
      Entity("Item", isAbstract: true) { Attribute("title", .string) }
      Entity("Book", parent: "Item", uniqueness: [["title"]]) { Attribute("size", .int32) }
      Entity("Film", parent: "Item") { Attribute("size", .string) }
    }
    let store = try place.open(model)
    let book = try store.insert("Book", ["title": .string("One"), "size": .int(300)])
    let film = try store.insert("Film", ["title": .string("One"), "size": .string("wide")])
    try store.insert("Film", ["title": .string("One"), "size": .string("wide")])
    #expect(try store.fetch("Item").count == 3)
    #expect(try store.fetch("Book").map(\.id) == [book.id])
    #expect(try store.current(book)?["size"] == .int(300))
    #expect(try store.current(film)?["size"] == .string("wide"))
    #expect(try store.current(film)?.entity.name == "Film")
    // The constraint is the subentity's alone.
    #expect { try store.insert("Book", ["title": .string("One"), "size": .int(1)]) } throws: {
      ErrorCode.uniquenessViolated ~= $0
    }
  }

  @Test func `a save uses a log and is durable when it returns`() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    let store = try place.open(model)
    try store.insert("Thing", ["name": .string("a")])
    let queue = try DatabaseQueue(path: place.path)
    #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    let mode = try FileManager.default.attributesOfItem(atPath: place.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }
}
