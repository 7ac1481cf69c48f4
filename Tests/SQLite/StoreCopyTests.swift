import CoherenceCore
@testable import CoherenceSQLite
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

  @Test func `a requested copy is readable by its owner only, and has the saves that are in the log only`() throws {
    let store = try place.open(model())
    for number in 0..<50 { try store.insert("Thing", ["name": .string("\(number)"), "size": .int(Int64(number))]) }
    let url = place.directory.appendingPathComponent("copy.sqlite")
    try #require(store as? any StoreCopying).copy(to: url)
    let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let copy = try SQLiteStoreFactory().open(StoreEnvironment(type: .sqlite, url: url, model: try model()))
    #expect(try copy.fetch("Thing").count == 50)
  }

  @Test func `a copy to a path with the log of another database is refused`() throws {
    let store = try #require(try place.open(model()) as? any StoreCopying)
    let url = place.directory.appendingPathComponent("copy.sqlite")
    let log = url.path + "-wal"
    #expect(FileManager.default.createFile(atPath: log, contents: Data("x".utf8)))
    let error = #expect(throws: CoherenceError.self) { try store.copy(to: url) }
    #expect(error?.code == .storeInaccessible)
    #expect(!FileManager.default.fileExists(atPath: url.path))
    #expect(FileManager.default.fileExists(atPath: log))
  }

  @Test func `a copy that fails leaves no file`() throws {
    let store = try #require(try place.open(model()) as? any StoreCopying)
    // The path is as long as a name may be, and the name of an unfinished copy is longer.
    let url = place.directory.appendingPathComponent(String(repeating: "n", count: 250))
    #expect(throws: CoherenceError.self) { try store.copy(to: url) }
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test func `a copy replaces the unfinished copy that a killed program left`() throws {
    let store = try place.open(model())
    try store.insert("Thing", ["name": .string("a"), "size": .int(7)])
    let url = place.directory.appendingPathComponent("copy.sqlite")
    let unfinished = url.path + "-unfinished"
    #expect(FileManager.default.createFile(atPath: unfinished, contents: Data("x".utf8)))
    try #require(store as? any StoreCopying).copy(to: url)
    #expect(!FileManager.default.fileExists(atPath: unfinished))
    let copy = try SQLiteStoreFactory().open(StoreEnvironment(type: .sqlite, url: url, model: try model()))
    #expect(try copy.fetch("Thing").map { $0["size"] } == [.int(7)])
  }

  @Test func `a copy that a killed program did not finish does not open as an empty store`() throws {
    let store = try #require(try place.open(model()) as? SQLiteStore)
    try store.insert("Thing", ["name": .string("a"), "size": .int(7)])
    let url = place.directory.appendingPathComponent("copy.sqlite")
    // A killed program neither finishes nor discards the copy.
    _ = try store.pool.withConnection { session in try SQLiteBackup(at: url.path, reading: session) }
    let environment = StoreEnvironment(type: .sqlite, url: url, model: try model())
    let error = #expect(throws: CoherenceError.self) { try SQLiteStoreFactory().open(environment) }
    #expect(error?.code == .notADatabase)
  }

  @Test func `a copy in a cancelled task is cancelled, and leaves no file`() async throws {
    let store = try place.open(model())
    let rows = try (0..<20_000).map { try store.row("Thing", ["name": .string("\($0)")]) }
    try store.save(.insert(store.entity("Thing"), rows))
    let copying = try #require(store as? any StoreCopying)
    let url = place.directory.appendingPathComponent("copy.sqlite")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try copying.copy(to: url)
    }
    let error = await #expect(throws: CoherenceError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.directory.path)
    #expect(names.allSatisfy { !$0.hasPrefix("copy") })
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
