import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// The settings of a store's connections, as a user observes them in files that other programs have changed.
@Suite struct ConnectionTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
  }

  // MARK: Readers

  /// Copies the open store and its log to another place, as a program leaves them when it is terminated.
  private func copyOpenFiles(to copy: TemporaryStore) throws {
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: place.path + suffix, toPath: copy.path + suffix)
    }
  }

  @Test func `a store that only reads leaves the file and its log unchanged when it is closed`() throws {
    let copy = try TemporaryStore()
    let writer = try place.open(model)
    let row = try writer.insert("Thing", ["name": .string("a")])
    try copyOpenFiles(to: copy)
    let log = URL(fileURLWithPath: copy.path + "-wal")
    let before = try (Data(contentsOf: copy.url), Data(contentsOf: log))
    #expect(!before.1.isEmpty)

    let store = try copy.open(model, options: [StoreOption.readOnly: true])
    #expect(try store.fetch("Thing").map(\.id) == [row.id])
    store.close()
    #expect(try Data(contentsOf: copy.url) == before.0)
    #expect(try Data(contentsOf: log) == before.1)
  }

  // MARK: Statements

  /// By default SQLite takes a quoted name without a column for a text.
  @Test func `a missing column of the metadata is not read as a text`() throws {
    let store = try place.open(model)
    let other = try OtherProgram(place.path)
    try other.run(#"ALTER TABLE "$coherence" RENAME COLUMN "value" TO "other""#)
    let error = #expect(throws: CoherenceError.self) { try store.metadata() }
    #expect(error?.code == .schemaChanged)
  }

  @Test func `a trigger in the file calls no function of the framework`() throws {
    let store = try place.open(model)
    let other = try OtherProgram(place.path)
    try other.run("CREATE TRIGGER spy AFTER INSERT ON Thing BEGIN SELECT coherence_fold(NEW.name, 0); END")
    let error = #expect(throws: CoherenceError.self) { try store.insert("Thing", ["name": .string("a")]) }
    #expect(error?.message.contains("unsafe use of coherence_fold") == true)
    #expect(try store.fetch("Thing").isEmpty)
  }

  // MARK: Other programs

  /// A change that reads first must not fail because of another program's commit between its read and its write.
  @Test func `every change passes while another program commits again and again`() async throws {
    let store = try place.open(model, options: [SQLiteOption.synchronous: "off"])
    try OtherProgram(place.path).run("CREATE TABLE other (a)")
    let begun = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [path = place.path] in
        defer { begun.continuation.finish() }
        let other = try OtherProgram(path)
        try other.run("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 60000")
        while !Task.isCancelled {
          try other.run("INSERT INTO other VALUES (1)")
          begun.continuation.yield()
        }
      }
      for await _ in begun.stream { break }
      for number in 0..<300 { try store.setUserInfo(["number": "\(number)"]) }
      group.cancelAll()
    }
    #expect(try store.metadata().userInfo == ["number": "299"])
  }

  // MARK: Closing

  #if os(Linux)
    /// The files in the directory of the test that the process has open.
    private var openFiles: [String] {
      let descriptors = "/proc/self/fd/"
      let files = FileManager.default
      return ((try? files.contentsOfDirectory(atPath: descriptors)) ?? [])
        .compactMap { try? files.destinationOfSymbolicLink(atPath: descriptors + $0) }
        .filter { $0.contains(place.directory.lastPathComponent) }
    }

    @Test func `a refused file is closed`() throws {
      try Data(String(repeating: "This is a letter. ", count: 200).utf8).write(to: place.url)
      for options in [[:], [StoreOption.readOnly: true]] as [[String: OptionValue]] {
        #expect(throws: CoherenceError.self) { try place.open(model, options: options) }
        #expect(openFiles.isEmpty)
      }
    }

    @Test func `a file that another program has locked is closed when the store gives up`() throws {
      let other = try DatabaseQueue(path: place.path)
      try other.inDatabase { database in
        try database.execute(sql: "BEGIN IMMEDIATE; CREATE TABLE other (a)")
        let error = #expect(throws: CoherenceError.self) {
          try place.open(model, options: [SQLiteOption.busyTimeout: 0.01])
        }
        #expect(error?.code == .storeBusy)
        try database.execute(sql: "ROLLBACK")
      }
      // SQLite keeps descriptors of a file until the process has no lock on it.
      try other.close()
      #expect(openFiles.isEmpty)
    }

    @Test func `a closed store has no file open once its readers are finished`() throws {
      let store = try place.open(model, options: [SQLiteOption.readers: 1])
      try store.insert("Thing", ["name": .string("a")])
      let query = StoreQuery(entity: store.entity("Thing"))
      let readers = try (0..<3).map { _ in try store.makeReader() }
      for reader in readers { _ = try reader.fetch(query) }
      readers[0].finish()
      readers[1].finish()
      #expect(!openFiles.isEmpty)
      store.close()
      readers[2].finish()
      #expect(openFiles.isEmpty)
    }
  #endif
}
