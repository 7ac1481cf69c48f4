import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import GRDB
import Testing

@Suite("Bad input of the command", .timeLimit(.minutes(5)))
struct BadInputTests {
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("bad-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  private func path(_ name: String) -> String { directory.appendingPathComponent(name).path }
  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  /// Runs each verb on a store, which must fail with one sentence.
  private func refusal(_ arguments: String...) throws -> String {
    var sentences: Set<String> = []
    for verbs in [["outbox"], ["outbox", "watch"], ["outbox", "retry"]] {
      let run = try CommandRun(verbs + arguments + (verbs.last == "retry" ? ["1"] : []))
      #expect(run.status == 1 && run.output.isEmpty, "\(verbs): \(run.output)\(run.error)")
      let lines = run.error.split(separator: "\n")
      #expect(lines.count == 1 && run.error.hasPrefix("error: "), "\(run.error)")
      sentences.insert(String(run.error.dropFirst(7)))
    }
    #expect(sentences.count == 1)
    return sentences.first?.trimmingCharacters(in: .newlines) ?? ""
  }

  @Test func `a path without a file is refused, and no file is made`() throws {
    let path = path("missing.sqlite")
    #expect(try refusal(path) == "'\(path)' does not exist; name the file of a store. The tool makes no store.")
    #expect(try files.isEmpty)
    #expect(try refusal(directory.path).hasSuffix("is a directory; name the file of a store in it."))
    try FileManager.default.removeItem(at: directory)
  }

  @Test func `a file without a store is refused and not changed`() throws {
    let (text, empty, other) = (path("text"), path("empty"), path("other.sqlite"))
    try Data("not a database, but long enough to have a header of a hundred bytes and more".utf8).write(
      to: URL(fileURLWithPath: text))
    try Data().write(to: URL(fileURLWithPath: empty))
    let queue = try DatabaseQueue(path: other)
    try queue.write { try $0.execute(sql: "CREATE TABLE t (a)") }
    try queue.close()
    let contents = try [text, empty, other].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
    #expect(try refusal(text).contains(text))
    #expect(try refusal(empty) == "'\(empty)' is an empty file and no store.")
    #expect(try refusal(other).hasPrefix("'\(other)' is a SQLite database, but not a store;"))
    #expect(try [text, empty, other].map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == contents)
    #expect(try files == ["empty", "other.sqlite", "text"])
    try FileManager.default.removeItem(at: directory)
  }

  @Test func `a store without the command's entities is refused and not changed`() throws {
    let path = path("plain.sqlite")
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Plain", managedObjectModel: try Application.plainModel.get())
    let store = try container.attachPersistentStore(
      for: StoreConfiguration(type: .sqlite, location: URL(fileURLWithPath: path)))
    let metadata = try store.metadata()
    #expect(
      try refusal(path)
        == "'\(path)' has no outbox: no program has opened it with a model of `addingOutbox()`.")
    #expect(try CommandRun(["actions", path]).error.contains("has no persisted actions"))
    #expect(try CommandRun(["schedule", path]).error.contains("has no persisted actions and no statuses of refreshes"))
    #expect(try store.metadata() == metadata)
    try container.detach(persistentStore: store)
    try FileManager.default.removeItem(at: directory)
  }

  @Test func `a schema without a store is refused, and the error for an unreachable server names the server`() throws {
    let closed = "postgresql://nobody:hunter2@127.0.0.1:1/none?connect_timeout=2"
    let sentence = try refusal(closed)
    #expect(!sentence.contains("hunter2") && !sentence.isEmpty)
    if let text = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"] {
      #expect(
        try refusal(text, "--schema", "no_such_schema")
          == "The schema 'no_such_schema' of the database has no store; name another schema with '--schema'.")
    }
    let schema = try refusal(path("x"), "--schema", "public")
    #expect(schema == "The option '--schema' is of PostgreSQL stores; a file has no schema.")
    try FileManager.default.removeItem(at: directory)
  }

  @Test func `wrong arguments end with the code 64`() throws {
    for arguments in [
      ["outbox", "retry", "x"], ["outbox", "drop", "x"], ["outbox", "park", "x"], ["actions", "prune", "x"],
      ["actions", "prune", "x", "--older-than", "soon"], ["outbox", "list", "x", "--limit", "0"],
      ["outbox", "list", "x", "--state", "lost"], ["outbox", "show", "x", "y"],
      ["outbox", "show", "x", "log:"], ["outbox", "list", "x", "--values"],
      ["actions", "prune", "x", "--older-than", "1h", "--state", "running"], ["outbox", "retry", "x", "1", "--all"],
      ["actions"], ["outbox", "watch", "x", "--interval", "0s"],
    ] {
      let run = try CommandRun(arguments)
      #expect(run.status == 64, "\(arguments): \(run.output)\(run.error)")
    }
    try FileManager.default.removeItem(at: directory)
  }
}
