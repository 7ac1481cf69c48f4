import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// The copy of a store before a migration drops values, and the refusal of a model that does not fit.
@Suite struct StoreCopyTests {
  private let place: TemporaryStore
  init() throws { place = try TemporaryStore() }

  private func model(_ type: AttributeType = .int32) throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "Things") {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("size", type, optional: true)
      }
    }
  }

  private func fill() throws {
    let store = try place.open(model())
    try store.insert("Thing", ["name": .string("a"), "size": .int(7)])
    store.close()
  }

  private var backups: [URL] {
    get throws {
      try FileManager.default.contentsOfDirectory(at: place.directory, includingPropertiesForKeys: nil)
        .filter { $0.lastPathComponent.contains(".backup") }
    }
  }

  private let allowed: [String: OptionValue] = [StoreOption.allowsDataLoss: true]

  @Test func `a store is copied into its folder before it drops values, and the copy opens with the old model`() throws
  {
    try fill()
    let store = try place.open(model(.string), options: allowed)
    #expect(try store.fetch("Thing").map { $0["size"] } == [.null])
    let copy = try #require(try backups.first)
    #expect(try backups.count == 1)
    #expect(copy.lastPathComponent.hasPrefix("test.sqlite.") && copy.pathExtension == "backup")
    let mode = try FileManager.default.attributesOfItem(atPath: copy.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let old = try SQLiteStoreFactory().open(
      StoreEnvironment(type: .sqlite, url: copy, model: try model()))
    #expect(old.identifier == store.identifier)
    #expect(try old.fetch("Thing").map { $0["size"] } == [.int(7)])
  }

  @Test func `a copy contains the latest saves although they are in the log only`() throws {
    let store = try place.open(model())
    for number in 0..<50 { try store.insert("Thing", ["name": .string("\(number)"), "size": .int(Int64(number))]) }
    // The file's other user keeps the log from being written back.
    let other = try place.open(model(.string), options: allowed)
    let copy = try #require(try backups.first)
    let old = try SQLiteStoreFactory().open(StoreEnvironment(type: .sqlite, url: copy, model: try model()))
    #expect(try old.fetch("Thing").count == 50)
    #expect(try other.fetch("Thing").count == 50)
  }

  @Test func `a store that drops no data is not copied, even if data loss is allowed`() throws {
    try fill()
    let larger = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("color", .string, optional: true)
      }
    }
    try place.open(larger, options: allowed).close()
    #expect(try backups.isEmpty)
    #expect(try place.open(model()).fetch("Thing").map { $0["size"] } == [.int(7)])
  }

  @Test func `a migration that fails leaves no copy`() throws {
    try fill()
    let failing = try ManagedObjectModel(name: "Things") {
      Entity("Thing") {
        Attribute("name", .int64, converting: { _ in throw CoherenceError(.invalidValue, "A name is no number.") })
        Attribute("size", .string, optional: true)
      }
    }
    #expect(throws: CoherenceError.self) { try place.open(failing, options: allowed) }
    #expect(try backups.isEmpty)
    #expect(try place.open(model()).fetch("Thing").map { $0["size"] } == [.int(7)])
  }

  @Test func `a migration whose commit is refused leaves no copy`() throws {
    try fill()
    let queue = try DatabaseQueue(path: place.path)
    try queue.write { database in
      // The migration records its model, and thereby inserts a reference that only the commit checks.
      try database.execute(
        sql: """
          CREATE TABLE "targets" ("id" INTEGER PRIMARY KEY);
          CREATE TABLE "references" ("id" INTEGER REFERENCES "targets" ("id") DEFERRABLE INITIALLY DEFERRED);
          CREATE TRIGGER "refuse" AFTER UPDATE ON "$coherence" BEGIN INSERT INTO "references" VALUES (1); END
          """)
    }
    try queue.close()
    let error = #expect(throws: CoherenceError.self) { try place.open(model(.string), options: allowed) }
    #expect(error?.code == .danglingReference)
    #expect(try backups.isEmpty)
    #expect(try place.open(model()).fetch("Thing").map { $0["size"] } == [.int(7)])
  }

  @Test func `the copies that killed programs left unfinished are removed before the next copy`() throws {
    try fill()
    let left = place.path + ".20260131T101112Z.backup-unfinished"
    let others = [place.path + ".old.20260131T101112Z.backup-unfinished", place.path + ".20260131T101112Z.backup"]
    for path in [left] + others { #expect(FileManager.default.createFile(atPath: path, contents: Data("x".utf8))) }
    let store = try place.open(model(.string), options: allowed)
    #expect(try store.fetch("Thing").map { $0["size"] } == [.null])
    #expect(!FileManager.default.fileExists(atPath: left))
    #expect(others.allSatisfy { FileManager.default.fileExists(atPath: $0) })
    #expect(try backups.count == 3)
  }

  @Test func `a store without a possible copy keeps its values`() throws {
    try fill()
    // Every name that a copy could have is longer than a file's name may be.
    let directory = place.directory.appendingPathComponent("long")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let name = String(repeating: "n", count: 240)
    let url = directory.appendingPathComponent(name)
    try FileManager.default.copyItem(at: place.url, to: url)
    func open(_ model: ManagedObjectModel, _ options: [String: OptionValue] = [:]) throws -> any PersistentStore {
      try SQLiteStoreFactory().open(StoreEnvironment(type: .sqlite, url: url, model: model, options: options))
    }
    #expect(throws: CoherenceError.self) { try open(model(.string), allowed) }
    #expect(try open(model()).fetch("Thing").map { $0["size"] } == [.int(7)])
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(names.allSatisfy { $0.hasPrefix(name) && !$0.contains("backup") })
  }

  @Test func `a store of an earlier framework version keeps the values that a smaller model omits`() throws {
    try fill()
    let queue = try DatabaseQueue(path: place.path)
    try queue.write { database in
      try database.execute(sql: #"UPDATE "$coherence" SET "value" = '1' WHERE "key" = 'format'"#)
      try database.execute(
        sql: #"UPDATE "$coherence" SET "value" = json_remove("value", '$.models') WHERE "key" = 'metadata'"#)
    }
    try queue.close()
    let smaller = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    let store = try place.open(smaller)
    #expect(try store.metadata().models.count == 2)
    store.close()
    #expect(try place.open(model()).fetch("Thing").map { $0["size"] } == [.int(7)])
  }

  @Test func `a column that another program dropped is not called damage`() throws {
    try fill()
    let store = try place.open(model())
    let queue = try DatabaseQueue(path: place.path)
    try queue.write { try $0.execute(sql: #"ALTER TABLE "Thing" DROP COLUMN "size""#) }
    #expect { try store.fetch("Thing") } throws: { ErrorCode.schemaChanged ~= $0 }
  }

  @Test func `a record of an entity that a newer program added is not called damage`() throws {
    func family(withVinyl: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        entities: [Entity("Item") { Attribute("name", .string) }, Entity("Film", parent: "Item")]
          + (withVinyl ? [Entity("Vinyl", parent: "Item")] : []))
    }
    let older = try place.open(family(withVinyl: false))
    let newer = try place.open(family(withVinyl: true))
    try newer.insert("Vinyl", ["name": .string("v")])
    let error = #expect(throws: CoherenceError.self) { try older.fetch("Item") }
    #expect(error?.code == .incompatibleModel)
    older.close()
    let refused = #expect(throws: CoherenceError.self) { try place.open(family(withVinyl: false)) }
    #expect(refused?.message.contains("older than the store") == true)
    #expect(refused?.dataLosses.map(\.count) == [1])
  }

  @Test func `columns have their defaults in the engine, except for unique columns`() throws {
    let model = try ManagedObjectModel {
      Entity("Thing", uniqueness: [["code"]]) {
        Attribute("size", .int32, default: Int32(3))
        Attribute("code", .string, default: "x")
      }
    }
    try place.open(model).close()
    let queue = try DatabaseQueue(path: place.path)
    let defaults = try queue.read { database in
      try database.columns(in: "Thing").reduce(into: [String: String]()) { $0[$1.name] = $1.defaultValueSQL }
    }
    #expect(defaults == ["size": "3"])
  }
}
