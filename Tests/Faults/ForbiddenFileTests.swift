import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDBSQLite
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Files and directories without permission for the process. Each test runs in a process without special rights.
@Suite struct ForbiddenFileTests {
  /// Gives up the rights of root, because root may access every file.
  private static func becomeAnybody() throws {
    guard getuid() == 0 else { return }
    try #require(setgid(65534) == 0 && setuid(65534) == 0)
  }

  private static func allow(_ mode: Int, _ url: URL) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path(percentEncoded: false))
  }

  private static func refusal(of store: URL) throws -> CoherenceError {
    try #require(throws: CoherenceError.self) {
      let ledger = try Ledger(type: .sqlite, at: store)
      try ledger.save()
    }
  }

  @Test func `a directory without permission is refused and the error names it`() async throws {
    let directory = try TemporaryDirectory()
    try Self.allow(0o000, directory.url)
    defer { try? Self.allow(0o700, directory.url) }
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      try Self.becomeAnybody()
      let error = try Self.refusal(of: store)
      #expect(error.code == .storeInaccessible)
      #expect(error.message.contains("denied"))
      #expect(error.message.contains(store.deletingLastPathComponent().lastPathComponent))
    }
  }

  @Test func `a read-only directory gets no store`() async throws {
    let directory = try TemporaryDirectory()
    try Self.allow(0o555, directory.url)
    defer { try? Self.allow(0o700, directory.url) }
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      try Self.becomeAnybody()
      let error = try Self.refusal(of: store)
      #expect(error.code == .storeInaccessible)
      #expect(error.message.contains("denied"))
    }
    #expect(!FileManager.default.fileExists(atPath: directory.store.path))
  }

  @Test(arguments: [0o755, 0o555])
  func `a read-only file is refused and stays unchanged`(directoryMode: Int) async throws {
    let directory = try TemporaryDirectory()
    do {
      let ledger = try Ledger(type: .sqlite, at: directory.store)
      try ledger.save()
    }
    let content = try Data(contentsOf: directory.store)
    try Self.allow(0o444, directory.store)
    try Self.allow(directoryMode, directory.url)
    defer { try? Self.allow(0o700, directory.url) }
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      try Self.becomeAnybody()
      let error = try Self.refusal(of: store)
      #expect(error.code == .storeReadOnly || error.code == .storeInaccessible)
      #expect(error.message.contains("permissions"))
    }
    #expect(try Data(contentsOf: directory.store) == content)
  }

  @Test(arguments: [0o444, 0o666])
  func `a store that only reads opens in a place without the right to write`(fileMode: Int) async throws {
    let directory = try TemporaryDirectory()
    do {
      let ledger = try Ledger(type: .sqlite, at: directory.store)
      try ledger.save()
      try ledger.close()
    }
    let content = try Data(contentsOf: directory.store)
    try Self.allow(fileMode, directory.store)
    try Self.allow(0o555, directory.url)
    defer { try? Self.allow(0o700, directory.url) }
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      try Self.becomeAnybody()
      let ledger = try Ledger(type: .sqlite, at: store, options: [StoreOption.readOnly: true])
      #expect(try ledger.audit() == 1)
      #expect(throws: CoherenceError.self) { try ledger.save() }
      #expect(try SQLiteStoreFactory().metadata(ledger.store.environment) != nil)
      try ledger.close()
    }
    #expect(try Data(contentsOf: directory.store) == content)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).count == 1)
  }

  @Test func `a store that only reads sees a change of the file between two units of work`() async throws {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    try ledger.save()
    try ledger.close()
    try Self.allow(0o644, directory.store)
    try Self.allow(0o555, directory.url)
    defer { try? Self.allow(0o700, directory.url) }
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      // The rights of the process are given up and taken back, so that the process itself is the other program.
      guard getuid() == 0 else { return }
      try #require(seteuid(65534) == 0)
      let reader = try Ledger(type: .sqlite, at: store, options: [StoreOption.readOnly: true])
      #expect(try reader.audit() == 1)
      try #require(seteuid(0) == 0)
      let writer = try Ledger(type: .sqlite, at: store)
      try writer.save()
      try writer.close()
      try #require(seteuid(65534) == 0)
      #expect(try reader.audit() == 2)
      try #require(seteuid(0) == 0)
    }
  }

  @Test func `a log with changes in a place without the right to write is refused, and the error tells what to do`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    try ledger.save()
    let copy = try TemporaryDirectory()
    for suffix in ["", "-wal"] {
      let name = directory.store.lastPathComponent + suffix
      try FileManager.default.copyItem(
        at: directory.url.appendingPathComponent(name), to: copy.url.appendingPathComponent(name))
    }
    let store = copy.url.appendingPathComponent(directory.store.lastPathComponent)
    for name in try FileManager.default.contentsOfDirectory(atPath: copy.url.path) {
      try Self.allow(0o644, copy.url.appendingPathComponent(name))
    }
    try Self.allow(0o555, copy.url)
    defer { try? Self.allow(0o700, copy.url) }
    await #expect(processExitsWith: .success) { [store = store as URL] in
      try Self.becomeAnybody()
      let error = try #require(throws: CoherenceError.self) {
        try Ledger(type: .sqlite, at: store, options: [StoreOption.readOnly: true])
      }
      #expect(error.code == .storeInaccessible)
      #expect(error.message.contains("open and close the store once"))
    }
  }

  @Test func `an unfinished transaction of another program in a place without the right to write is not read`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<10 { try ledger.save() }
    try ledger.close()
    // The program keeps a journal in place of a log, and its transaction does not fit into its memory. A copy is the
    // state that its end would leave.
    var program: OpaquePointer?
    let opening = sqlite3_open(directory.store.path, &program)
    defer { sqlite3_close(program) }
    try #require(opening == SQLITE_OK)
    let change = """
      PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; \
      UPDATE Coin SET mint = mint || hex(zeroblob(2000))
      """
    let changing = sqlite3_exec(program, change, nil, nil, nil)
    try #require(changing == SQLITE_OK)
    let copy = try TemporaryDirectory()
    for suffix in ["", "-journal"] {
      let name = directory.store.lastPathComponent + suffix
      let file = copy.url.appendingPathComponent(name)
      try FileManager.default.copyItem(at: directory.url.appendingPathComponent(name), to: file)
      try Self.allow(0o644, file)
    }
    try Self.allow(0o555, copy.url)
    defer { try? Self.allow(0o700, copy.url) }
    await #expect(processExitsWith: .success) { [store = copy.store as URL] in
      try Self.becomeAnybody()
      let error = try #require(throws: CoherenceError.self) {
        try Ledger(type: .sqlite, at: store, options: [StoreOption.readOnly: true])
      }
      #expect(error.code == .storeInaccessible)
      #expect(error.message.contains("open and close the store once"))
    }
  }

  @Test func `a directory in the place of a file is refused and named`() throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(at: directory.store, withIntermediateDirectories: false)
    let error = try Self.refusal(of: directory.store)
    #expect(error.code == .storeInaccessible)
    #expect(error.message.contains("is a directory"))
  }

  @Test func `attaching one file under two names throws`() throws {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    let last = try ledger.save()
    let link = directory.url.appendingPathComponent("link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: directory.store)
    #expect(try Ledger(type: .sqlite, at: link).save() == last + 1)
    #expect(try ledger.save() == last + 2)
    // SQLite finds a log by the name of its database. A connection through a hard link would find another log or none.
    let twin = directory.url.appendingPathComponent("twin.sqlite")
    try FileManager.default.linkItem(at: directory.store, to: twin)
    let error = try Self.refusal(of: twin)
    #expect(error.code == .storeInaccessible)
    let options: [String: OptionValue] = [StoreOption.readOnly: true]
    let reading = #expect(throws: CoherenceError.self) { try Ledger(type: .sqlite, at: twin, options: options) }
    #expect(reading?.code == .storeInaccessible)
    let environment = StoreEnvironment(type: .sqlite, url: twin, model: Ledger.model, options: options)
    #expect { try SQLiteStoreFactory().metadata(environment) } throws: { ErrorCode.storeInaccessible ~= $0 }
    #expect(try ledger.audit() == last + 2)
  }
}
