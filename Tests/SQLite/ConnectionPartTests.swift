import CoherenceCore
import CoherenceSQL
@testable import CoherenceSQLite
import Foundation
import Testing

/// The parts of a connection to a file: the files beside it, the waits for other programs, and the pool of readers.
@Suite struct ConnectionPartTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
  }

  // MARK: Files

  private func write(_ suffix: String, _ text: String = "") throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: place.path + suffix))
  }

  private func remove(_ suffix: String) throws { try FileManager.default.removeItem(atPath: place.path + suffix) }

  /// Puts another file in the place of a file, while the former one still exists.
  private func replace(_ suffix: String, _ text: String = "") throws {
    try write(suffix + ".new", text)
    try remove(suffix)
    try FileManager.default.moveItem(atPath: place.path + suffix + ".new", toPath: place.path + suffix)
  }

  @Test func `a file is created once`() throws {
    #expect(try SQLiteFile.create(place.path))
    #expect(try !SQLiteFile.create(place.path))
    let error = try #require(throws: CoherenceError.self) { try SQLiteFile.create(place.path + ".d/x") }
    #expect(error.code == .storeInaccessible)
  }

  @Test func `a log or a journal with bytes is a log`() throws {
    let files = SQLiteFiles(path: place.path)
    #expect(!files.hasLog)
    try write("-wal")
    #expect(!files.hasLog)
    try write("-wal", "x")
    #expect(files.hasLog)
    try remove("-wal")
    try write("-journal", "x")
    #expect(files.hasLog)
  }

  @Test func `a deleted or replaced file is missing`() throws {
    let files = SQLiteFiles(path: place.path)
    for suffix in ["", "-wal", "-shm"] { try write(suffix, "x") }
    files.note()
    #expect(files.missing == nil && files.missingLog == nil && !files.isDatabaseMissing)
    try remove("-wal")
    #expect(files.missing == files.path + "-wal" && files.missingLog == files.path + "-wal" && !files.isDatabaseMissing)
    try write("-wal", "x")
    files.note()
    try replace("", "x")
    #expect(files.missing == files.path && files.missingLog == nil && files.isDatabaseMissing)
  }

  @Test func `a log is another program's if it has bytes, or if its index is another file`() throws {
    let files = SQLiteFiles(path: place.path)
    try write("")
    #expect(!files.hasOtherLog)
    try write("-wal")
    #expect(!files.hasOtherLog)
    try write("-shm", "x")
    files.note()
    #expect(!files.hasOtherLog)
    try replace("-shm", "x")
    #expect(files.hasOtherLog)
    files.note()
    try write("-wal", "x")
    #expect(files.hasOtherLog)
  }

  // MARK: Waits

  private func connection() throws -> SQLiteConnection {
    _ = try SQLiteFile.create(place.path)
    return try SQLiteConnection(
      path: place.path, role: .writer, busyTimeout: 10, logger: place.environment(model).logger)
  }

  static let limits: [(Duration, Duration)] = [
    (.milliseconds(5), .milliseconds(5)), (.milliseconds(-5), .zero), (.seconds(10_000_000), .seconds(10_000_000)),
  ]

  @Test(arguments: limits)
  func `a wait with a limit has the limit, and later waits have the usual one`(limit: Duration, time: Duration) throws {
    struct Refusal: Error {}
    let connection = try connection()
    let times = try connection.use { session -> [Duration] in
      var times: [Duration] = []
      func note() { times.append(session.busyWait.limit) }
      session.waitingForOthers(atMost: limit) { note() }
      note()
      try? session.waitingForOthers(atMost: limit) { throw Refusal() }
      note()
      session.waitingForOthers(atMost: nil) { note() }
      return times
    }
    #expect(times == [time, .seconds(10), .seconds(10), .seconds(10)])
    connection.close()
  }

  /// The number of calls of a block that fails twice with a code.
  private func calls(failingWith code: Int32) throws -> Int {
    let connection = try connection()
    defer { connection.close() }
    var calls = 0
    _ = try? connection.use { session in
      try session.repeatingWhileLocked {
        calls += 1
        if calls < 3 { throw SQLiteFailure(code: code, message: "x") }
      }
    }
    return calls
  }

  @Test func `a block is repeated while another program has a lock, and for no other failure`() throws {
    #expect(try calls(failingWith: 5) == 3)
    #expect(try calls(failingWith: 1) == 1)
  }

  // MARK: Readers

  private func isOpen(_ connection: SQLiteConnection) -> Bool {
    (try? connection.use { try $0.integers("SELECT 1") }) == [1]
  }

  private func pool() throws -> SQLiteReaderPool {
    _ = try SQLiteFile.create(place.path)
    let environment = place.environment(model, options: [SQLiteOption.readers: 1])
    return SQLiteReaderPool(
      options: try SQLiteOptions(environment), logger: environment.logger, files: SQLiteFiles(path: place.path))
  }

  @Test func `a pool keeps as many readers as its option says, and closes the others`() throws {
    let pool = try pool()
    let (first, second) = (try pool.acquire(), try pool.acquire())
    pool.release(first)
    pool.release(second)
    #expect(isOpen(first) && !isOpen(second))
    #expect(try pool.acquire() === first)
    pool.close()
    #expect(isOpen(first))
    pool.release(first)
    #expect(!isOpen(first))
  }

  @Test func `a closed pool closes its idle readers`() throws {
    let pool = try pool()
    let reader = try pool.acquire()
    pool.release(reader)
    pool.close()
    #expect(!isOpen(reader))
  }

  // MARK: Requests

  @Test func `a request writes rows if it inserts, updates or deletes one`() throws {
    let thing = try model.entity(named: "Thing")
    let id = ManagedObjectID(space: IDSpaces(store: StoreIdentifier("s"), model: model)[thing], key: 1)
    let row = Row.make(id: id, entity: thing, version: 1, values: [.string("a")])
    func writes(_ step: SaveStep) -> Bool { StoreSaveRequest(steps: [step]).writesRows }
    let slots = SlotSet([0])
    #expect(writes(.insert(thing, [row])) && !writes(.insert(thing, [])))
    #expect(writes(.update(thing, slots: slots, [RowUpdate(row: row, baseVersion: 0)])))
    #expect(!writes(.update(thing, slots: slots, [])))
    #expect(writes(.delete(thing, [RowDelete(id: id, baseVersion: 1)])) && !writes(.delete(thing, [])))
    #expect(!writes(.fix(thing, slots: slots, [row])))
  }
}
