import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport

@testable import CoherenceOutbox

typealias NoteConnect = GenericConnect<ContextStrategy.Mixed>

/// A Connect with folders and notes in one store, whose edits an outbox sends to a server in memory.
final class NoteStack: Sendable {
  let directory: TemporaryDirectory
  let backend: Backend
  let name: String
  let connect: NoteConnect
  let outbox: Outbox
  let server: NoteServer
  let time: ManualClock

  /// One model for all stacks, because an in-memory store is opened with one model at a time.
  private static let model = Result { try ManagedObjectModel(NoteFolder.self, Note.self).addingOutbox() }

  convenience init(_ backend: Backend = .inMemory, server: NoteServer = NoteServer()) throws {
    try self.init(
      backend, name: UUID().uuidString.filter(\.isHexDigit), directory: TemporaryDirectory(), server: server,
      time: ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000)), confirmations: .shared)
  }

  private init(
    _ backend: Backend, name: String, directory: TemporaryDirectory, server: NoteServer, time: ManualClock,
    confirmations: Confirmations
  ) throws {
    self.backend = backend
    self.name = name
    self.directory = directory
    self.server = server
    self.time = time
    connect = try NoteConnect(name: "Notes", managedObjectModel: Self.model.get(), storeLocation: directory.url)
    try connect.attachPersistentStore(for: backend.configuration(named: name))
    var options = OutboxOptions(now: { time.date })
    options.confirmations = confirmations
    outbox = try Outbox(connect, forwarding: NoteFolder.self, Note.self, options: options)
    try registerHandlers()
  }

  /// A second stack with the same store and server, in the place of another process.
  ///
  /// - Parameter confirmations: The edits that the other process knows to be confirmed.
  func other(_ confirmations: Confirmations = Confirmations()) throws -> NoteStack {
    try NoteStack(
      backend, name: name, directory: directory, server: server, time: time, confirmations: confirmations)
  }

  private func registerHandlers() throws {
    for entityName in [NoteFolder.entityName, Note.entityName] {
      try outbox.forward(entityName) { [server] handlers in
        handlers.insert { try await server.receive($0) }
        handlers.update { try await server.receive($0) }
        handlers.delete { try await server.receive($0) }
      }
    }
  }

  /// Options with the clock of the test, and by default without delays between attempts.
  func options(
    concurrency: Int = 1, retry: RetryPolicy = RetryPolicy(attempts: 100, initialDelay: .zero, jitter: 0),
    lookahead: Int = 0, conflictPolicy: ForwardConflictPolicy = .park,
    connectivity: any Connectivity = AlwaysOnline()
  ) -> ForwardOptions {
    ForwardOptions(
      concurrency: concurrency, retry: retry, lookahead: lookahead, conflictPolicy: conflictPolicy,
      connectivity: connectivity, clock: time)
  }

  /// Starts the outbox, sends every sendable edit, and stops. Returns the number of remaining entries.
  @discardableResult
  func forwardAll(_ options: ForwardOptions? = nil) async throws -> Int {
    try outbox.start(options ?? self.options())
    let rest = try await outbox.flush()
    await outbox.stop()
    return rest
  }

  /// Inserts notes, starts the outbox, and waits until the server has received the first request, which waits at the
  /// returned gate.
  func startHeld(sending titles: String..., options: ForwardOptions? = nil) async throws -> ServerGate {
    let gate = ServerGate()
    await server.hold(at: gate)
    for title in titles { try insertNote(title) }
    try outbox.start(options ?? self.options())
    await server.untilCalled(1)
    return gate
  }

  /// Sends edits until an attempt fails, and stops before the next attempt, which is due after thirty seconds.
  ///
  /// - Parameter faults: The faults of the first requests; without any, the server applies the first edit and its answer
  ///   is lost.
  func sendWithoutAnswer(_ faults: NoteServer.Fault...) async throws {
    for fault in faults.isEmpty ? [.loseAnswer] : faults { await server.script(fault) }
    try outbox.start(options(retry: RetryPolicy(attempts: 100, initialDelay: .seconds(30), jitter: 0)))
    var events = outbox.events.makeAsyncIterator()
    while let event = await events.next() { if case .willRetry = event { break } }
    await outbox.stop()
  }

  // MARK: Edits of the user

  /// Calls a block in a new context of the user, and saves.
  @discardableResult
  func edit<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    try connect.newBackgroundContext().saving(body)
  }

  /// Inserts a note with a temporary identifier.
  func insertNote(_ title: String, rank: Int64 = 0) throws {
    try edit { context in
      let note = try Note(context: context)
      note.id = "local-\(title)"
      note.title = title
      note.rank = rank
    }
  }

  /// Inserts the folders "F" and "G" with temporary identifiers, and the note "A" in "F".
  func insertFolders() throws {
    try edit { context in
      for name in ["F", "G"] {
        let folder = try NoteFolder(context: context)
        (folder.id, folder.name) = ("local-\(name)", name)
        guard name == "F" else { continue }
        let note = try Note(context: context)
        (note.id, note.title, note.folder) = ("local-A", "A", folder)
      }
    }
  }

  /// Moves the note "A" to the folder with a name.
  func move(to name: String) throws {
    try edit { context in
      let folders = try context.fetch(FetchRequest(NoteFolder.self).filter { $0.name == name })
      try Self.note("A", in: context).folder = folders.first
    }
  }

  /// Changes the note with a title.
  func change(_ title: String, _ body: (Note) -> Void) throws {
    try edit { context in body(try Self.note(title, in: context)) }
  }

  func delete(_ title: String) throws {
    try edit { context in context.delete(try Self.note(title, in: context)) }
  }

  static func note(_ title: String, in context: ManagedObjectContext) throws -> Note {
    let request = FetchRequest(Note.self).filter { $0.title == title }
    guard let note = try context.fetch(request).first else { throw MissingNote(title: title) }
    return note
  }

  struct MissingNote: Error {
    let title: String
  }

  // MARK: Reading

  /// Calls a block in a new context without saving.
  func read<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = connect.newBackgroundContext()
    return try context.performAndWait { try body(context) }
  }

  /// The identifiers of all notes by title.
  func ids() throws -> [String: String] {
    try read { context in
      Dictionary(
        try context.fetch(FetchRequest(Note.self)).map { ($0.title, $0.id) }, uniquingKeysWith: { first, _ in first })
    }
  }
}
