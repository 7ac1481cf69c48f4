import CoherenceCore
import CoherenceSQLite
import Foundation
import Testing

/// Readers of a SQLite store whose files another process deletes while the store is open.
@Suite struct MissingLogTests {
  /// Reads with a new reader, and returns the error; `nil` after a successful read.
  private static func read(_ store: any PersistentStore) -> CoherenceError? {
    do {
      let reader = try store.makeReader()
      defer { reader.finish() }
      _ = try reader.count(StoreQuery(entity: try #require(store.environment.model.entitiesByName["Deposit"])))
      return nil
    } catch {
      return error as? CoherenceError
    }
  }

  /// Readers with all idle connections, so that the next reader opens one.
  private static func occupyIdleReaders(of store: any PersistentStore) throws -> [any StoreReader] {
    try (0..<16).map { _ in
      let reader = try store.makeReader()
      _ = try reader.count(StoreQuery(entity: try #require(store.environment.model.entitiesByName["Book"])))
      return reader
    }
  }

  @Test(arguments: [["-wal"], ["-wal", "-shm"]], [false, true])
  func `a reader that begins after the log was deleted or replaced throws the same error as a save`(
    suffixes: [String], isReplaced: Bool
  ) throws {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<9 { try ledger.save() }
    let held = try Self.occupyIdleReaders(of: ledger.store)
    defer { for reader in held { reader.finish() } }
    for suffix in suffixes {
      let path = directory.store.path(percentEncoded: false) + suffix
      try FileManager.default.removeItem(atPath: path)
      if isReplaced { try Data().write(to: URL(fileURLWithPath: path)) }
    }

    let error = try #require(Self.read(ledger.store))
    #expect(error.code == .storeInaccessible)
    #expect(error.message.contains("moved or deleted"))
    #expect(error.message.contains("-wal"))
    // A reader with the log open can still read.
    let deposits = StoreQuery(entity: try #require(ledger.store.environment.model.entitiesByName["Deposit"]))
    #expect(try held[0].count(deposits) == 9)
  }

  @Test func `a reader that begins after the database was deleted throws the same error as a save`() throws {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    try ledger.save()
    let held = try Self.occupyIdleReaders(of: ledger.store)
    defer { for reader in held { reader.finish() } }
    try FileManager.default.removeItem(at: directory.store)
    let error = try #require(Self.read(ledger.store))
    #expect(error.code == .storeInaccessible)
    #expect(error.message.contains("moved or deleted"))
  }

  @Test func `neither a reader nor a second store takes a database in the place of an open one for it`() throws {
    let elsewhere = try TemporaryDirectory()
    let restored = try Ledger(type: .sqlite, at: elsewhere.store)
    for _ in 0..<2 { try restored.save() }
    try restored.close()
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<9 { try ledger.save() }
    let held = try Self.occupyIdleReaders(of: ledger.store)
    try FileManager.default.removeItem(at: directory.store)
    try FileManager.default.moveItem(at: elsewhere.store, to: directory.store)

    let error = try #require(Self.read(ledger.store))
    #expect(error.code == .storeInaccessible)
    #expect(error.message.contains("moved or deleted"))
    let refusal = #expect(throws: CoherenceError.self) { try Ledger(type: .sqlite, at: directory.store) }
    #expect(refusal?.code == .storeInaccessible)
    #expect(refusal?.message.contains("detach that store first") == true)
    #expect { try SQLiteStoreFactory().metadata(ledger.store.environment) } throws: {
      ErrorCode.storeInaccessible ~= $0
    }
    // A reader with the former file open can still read.
    let deposits = StoreQuery(entity: try #require(ledger.store.environment.model.entitiesByName["Deposit"]))
    #expect(try held[0].count(deposits) == 9)

    for reader in held { reader.finish() }
    try ledger.close()
    let later = try Ledger(type: .sqlite, at: directory.store)
    #expect(try later.audit() == 2)
    #expect(try later.complaints() == ["ok"])
  }

  @Test func `a database moved while its store is open has every save after the close`() throws {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<9 { try ledger.save() }
    let elsewhere = directory.url.appendingPathComponent("elsewhere.sqlite")
    try FileManager.default.moveItem(at: directory.store, to: elsewhere)
    try ledger.close()
    #expect(try Ledger(type: .sqlite, at: elsewhere).audit() == 9)
  }

  @Test func `a process that only reads after its log was deleted keeps its earlier acknowledged saves`() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .failure) { [store = directory.store as URL] in
      let ledger = try Ledger(type: .sqlite, at: store)
      for _ in 0..<9 { try ledger.save() }
      let held = try Self.occupyIdleReaders(of: ledger.store)
      defer { for reader in held { reader.finish() } }
      try FileManager.default.removeItem(atPath: store.path(percentEncoded: false) + "-wal")
      #expect(Self.read(ledger.store) != nil)
      // Ends like a crash, without closing the store.
      abort()
    }
    #expect(try Ledger(type: .sqlite, at: directory.store).audit() == 9)
  }

  @Test func `a store opened by a symbolic link watches the log of the file that the link leads to`() throws {
    let directory = try TemporaryDirectory()
    let target = directory.url.appendingPathComponent("elsewhere.sqlite")
    try Data().write(to: target)
    let link = directory.url.appendingPathComponent("link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
    let ledger = try Ledger(type: .sqlite, at: link)
    for _ in 0..<9 { try ledger.save() }
    try FileManager.default.removeItem(atPath: target.path(percentEncoded: false) + "-wal")
    let error = #expect(throws: CoherenceError.self) { try ledger.save() }
    #expect(error?.code == .storeInaccessible)
    #expect(error?.outcome == .notApplied)
  }
}
