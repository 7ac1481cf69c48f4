import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite struct FileTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
  }

  private func code(_ options: [String: OptionValue] = [:]) -> ErrorCode? {
    do {
      _ = try place.open(model, options: options)
      return nil
    } catch {
      return (error as? CoherenceError)?.code
    }
  }

  @Test func `a file of another format is refused and stays unchanged`() throws {
    let content = Data(String(repeating: "This is a letter. ", count: 200).utf8)
    try content.write(to: place.url)
    #expect(code() == .notADatabase)
    #expect(try Data(contentsOf: place.url) == content)
  }

  @Test func `a pipe is refused as the file of a store, and stays where it is`() throws {
    try #require(mkfifo(place.path, 0o600) == 0)
    let (factory, environment) = (SQLiteStoreFactory(), place.environment(model))
    let attempts: [() throws -> Void] = [
      { _ = try factory.open(environment) }, { _ = try factory.metadata(environment) },
      { _ = try factory.setAside(environment) }, { try factory.erase(environment) },
    ]
    for attempt in attempts {
      let error = #expect(throws: CoherenceError.self) { try attempt() }
      #expect(error?.code == .storeInaccessible)
      #expect(error?.message.contains("is a device, a pipe or a socket") == true)
    }
    #expect(FileManager.default.fileExists(atPath: place.path))
  }

  @Test func `the database of another program is refused and stays unchanged`() throws {
    let queue = try DatabaseQueue(path: place.path)
    try queue.write { try $0.execute(sql: "CREATE TABLE other (a)") }
    try queue.close()
    let content = try Data(contentsOf: place.url)
    #expect(code() == .notADatabase)
    #expect(try Data(contentsOf: place.url) == content)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory.path).count == 1)
  }

  @Test(arguments: ["UTF-16le", "UTF-16be"])
  func `a database with texts in UTF-16, which have another order, is refused`(encoding: String) throws {
    let other = try OtherProgram(place.path)
    try other.run("PRAGMA encoding = '\(encoding)'; CREATE TABLE other (a); DROP TABLE other")
    try other.close()
    #expect(code() == .notADatabase)
    #expect(code([StoreOption.readOnly: true]) == .notADatabase)
  }

  @Test func `a view in a syntax of a later version of SQLite is not called damage`() throws {
    try place.open(model).close()
    let other = try OtherProgram(place.path)
    try other.run(
      """
      PRAGMA writable_schema = ON; \
      INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) \
      VALUES ('view', 'later', 'later', 0, 'CREATE VIEW later AS SELECT 1 FROM Thing LATER SYNTAX'); \
      PRAGMA writable_schema = OFF
      """)
    try other.close()
    #expect(code() == .schemaChanged)
  }

  @Test func `the erasure of a store that a symbolic link names erases its records`() throws {
    let target = place.directory.appendingPathComponent("elsewhere.sqlite")
    let store = try SQLiteStoreFactory().open(StoreEnvironment(type: .sqlite, url: target, model: model))
    try store.insert("Thing", ["name": .string("a")])
    store.close()
    try FileManager.default.createSymbolicLink(at: place.url, withDestinationURL: target)
    try SQLiteStoreFactory().erase(place.environment(model))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory.path).isEmpty)
    #expect(try place.open(model).fetch("Thing").isEmpty)
  }

  @Test func `a truncated file is damaged`() throws {
    let store = try place.open(model)
    let rows = try (0..<500).map { _ in try store.row("Thing", ["name": .string(String(repeating: "x", count: 200))]) }
    try store.save(StoreSaveRequest(steps: [.insert(store.entity("Thing"), rows)]))
    store.close()
    let file = try FileHandle(forWritingTo: place.url)
    try file.truncate(atOffset: 8192)
    try file.close()
    #expect(code() == .storeCorrupt)
  }

  @Test func `the log of a large save is shortened by the next save`() throws {
    let store = try place.open(model)
    try store.insert("Thing", ["name": .string(String(repeating: "x", count: 24 << 20))])
    let log = URL(fileURLWithPath: place.path + "-wal")
    #expect(try Data(contentsOf: log).count > 24 << 20)
    try store.insert("Thing", ["name": .string("y")])
    #expect(try Data(contentsOf: log).count <= 16 << 20)
    #expect(try store.fetch("Thing").count == 2)
  }

  @Test func `a missing directory is named`() throws {
    let url = place.directory.appendingPathComponent("nowhere/test.sqlite")
    let environment = StoreEnvironment(type: .sqlite, url: url, model: model)
    let error = #expect(throws: CoherenceError.self) { try SQLiteStoreFactory().open(environment) }
    #expect(error?.code == .storeInaccessible)
    #expect(error?.message.contains("nowhere' does not exist") == true)
  }

  @Test func `a store opened for reading is neither created nor written`() throws {
    #expect(code([StoreOption.readOnly: true]) == .storeInaccessible)
    #expect(!FileManager.default.fileExists(atPath: place.path))
    let store = try place.open(model)
    let row = try store.insert("Thing", ["name": .string("a")])
    store.close()
    let reader = try place.open(model, options: [StoreOption.readOnly: true])
    #expect(try reader.fetch("Thing").map(\.id) == [row.id])
    #expect { try reader.save(StoreSaveRequest(steps: [])) } throws: { ErrorCode.storeReadOnly ~= $0 }
  }

  @Test func `options that make no sense are refused`() {
    #expect(code([SQLiteOption.synchronous: "sometimes"]) == .invalidOption)
    for readers in [0, 257] { #expect(code([SQLiteOption.readers: .int(readers)]) == .invalidOption) }
    for timeout in ["long", -1, 86_401, 86_400.5, .double(.nan)] as [OptionValue] {
      #expect(code([SQLiteOption.busyTimeout: timeout]) == .invalidOption)
    }
    #expect(!FileManager.default.fileExists(atPath: place.path))
  }

  @Test func `the least and the greatest number of readers, and the longest wait, are allowed`() {
    for readers in [1, 256] { #expect(code([SQLiteOption.readers: .int(readers)]) == nil) }
    for timeout in [86_400, 86_400.0] as [OptionValue] { #expect(code([SQLiteOption.busyTimeout: timeout]) == nil) }
  }

  @Test func `metadata is read without opening or creating`() throws {
    let factory = SQLiteStoreFactory()
    #expect(try factory.metadata(place.environment(model)) == nil)
    #expect(!FileManager.default.fileExists(atPath: place.path))
    let store = try place.open(model)
    try store.setUserInfo(["a": "b"])
    let metadata = try store.metadata()
    #expect(metadata.userInfo == ["a": "b"])
    #expect(metadata.identifier == store.identifier)
    store.close()
    #expect(try factory.metadata(place.environment(model)) == metadata)
    #expect(try place.open(model).identifier == metadata.identifier)
  }

  @Test func `setting a store aside keeps its content`() throws {
    let store = try place.open(model)
    try store.insert("Thing", ["name": .string("a")])
    let factory = SQLiteStoreFactory()
    #expect { try factory.setAside(place.environment(model)) } throws: { ErrorCode.storeBusy ~= $0 }
    store.close()
    let target = try factory.setAside(place.environment(model))
    #expect(target.hasSuffix(".incompatible"))
    #expect(!FileManager.default.fileExists(atPath: place.path))
    let queue = try DatabaseQueue(path: target)
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM Thing") } == 1)
  }

  @Test func `a closed store throws storeDetached`() throws {
    let store = try place.open(model)
    let reader = try store.makeReader()
    store.close()
    store.close()
    #expect { try store.metadata() } throws: { ErrorCode.storeDetached ~= $0 }
    #expect { try reader.row(1, of: store.entity("Thing")) } throws: { ErrorCode.storeDetached ~= $0 }
    reader.finish()
  }

  @Test func `two stores on one file see each other's saves`() throws {
    let one = try place.open(model)
    let two = try place.open(model)
    let row = try one.insert("Thing", ["name": .string("a")])
    #expect(try two.fetch("Thing").map(\.id) == [row.id])
    let other = try two.insert("Thing", ["name": .string("b")])
    #expect(other.key != row.key)
    #expect(try one.fetch("Thing").count == 2)
    #expect(one.identifier == two.identifier)
  }

  @Test func `a lock that another process holds is waited for in vain`() throws {
    let store = try place.open(model, options: [SQLiteOption.busyTimeout: 0.05])
    let row = try store.row("Thing", ["name": .string("a")])
    let other = try DatabaseQueue(path: place.path)
    try other.inDatabase { database in
      try database.execute(sql: "BEGIN IMMEDIATE")
      let begin = ContinuousClock.now
      let error = #expect(throws: CoherenceError.self) {
        try store.save(StoreSaveRequest(steps: [.insert(row.entity, [row])]))
      }
      #expect(ContinuousClock.now - begin >= .milliseconds(50))
      #expect(error?.code == .storeBusy)
      #expect(error?.isRetryable == true)
      #expect(error?.outcome == .notApplied)
      try database.execute(sql: "ROLLBACK")
    }
    try store.save(StoreSaveRequest(steps: [.insert(row.entity, [row])]))
  }

  @Test func `a value of a wrong type is not converted`() throws {
    let store = try place.open(model)
    let row = try store.insert("Thing", ["name": .string("a")])
    let other = try DatabaseQueue(path: place.path)
    try other.write { try $0.execute(sql: "UPDATE Thing SET name = x'FF00'") }
    let error = #expect(throws: CoherenceError.self) { try store.current(row) }
    #expect(error?.code == .storeCorrupt)
    #expect(error?.message.contains("Column 'name' of table 'Thing'") == true)
  }

  @Test func `an integer that another program wrote into a column of doubles is read as the same number`() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("size", .double) } }
    let store = try place.open(model)
    let row = try store.insert("Thing", ["size": .double(0.5)])
    let size = try #require(row.entity.attribute(named: "size")).slot
    let other = try DatabaseQueue(path: place.path)
    try other.write { try $0.execute(sql: "UPDATE Thing SET size = 7") }
    #expect(try store.current(row)?[size] == .double(7))
    // No double is this number.
    try other.write { try $0.execute(sql: "UPDATE Thing SET size = 9007199254740993") }
    let error = #expect(throws: CoherenceError.self) { try store.current(row) }
    #expect(error?.code == .storeCorrupt)
  }

  @Test func `a file whose entities inherit from each other in a circle is refused as damaged`() throws {
    let model = try ManagedObjectModel {
      Entity("Thing") { Attribute("name", .string) }
      Entity("Tool", parent: "Thing") { Attribute("use", .string, optional: true) }
    }
    try place.open(model).close()
    let other = try OtherProgram(place.path)
    let sound = #""isAbstract":false,"name":"Thing"}"#
    let circular = #""isAbstract":false,"name":"Thing","parent":"Tool"}"#
    try other.run(#"UPDATE "$coherence" SET value = replace(value, '\#(sound)', '\#(circular)') WHERE key = 'schema'"#)
    try other.close()
    let error = #expect(throws: CoherenceError.self) { try place.open(model) }
    #expect(error?.code == .storeCorrupt)
  }

  @Test func `a store in a file has every capability`() throws {
    #expect(try place.open(model).capabilities == [.durable, .shared, .concurrentReads, .file])
  }
}
