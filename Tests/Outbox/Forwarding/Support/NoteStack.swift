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

  // MARK: Edits of the user

  /// Calls a block in a new context of the user, and saves.
  @discardableResult
  func edit<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = connect.newBackgroundContext()
    return try context.performAndWait {
      let result = try body(context)
      try context.save()
      return result
    }
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
