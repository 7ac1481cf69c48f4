import Coherence
import CoherenceOutbox
import CoherencePostgreSQL
import Foundation
import Logging

/// The notes of one device, with an outbox that keeps the edits until the service has them.
package struct NoteStack: Sendable {
  package typealias Connect = GenericConnect<ContextStrategy.Mixed>

  package let connect: Connect
  package let outbox: Outbox
  private let client: NoteClient

  /// Opens the store and registers the handlers of edits. The outbox sends no edit before ``Outbox/start(_:)``.
  package init(place: NotePlace, service: URL, logger: Logger = .silent) async throws {
    let model = try ManagedObjectModel(Note.self, name: "Notes").addingOutbox()
    let connect = Connect(name: "Notes", managedObjectModel: model, logger: logger)
    let client = NoteClient(base: service)
    outbox = try Outbox(connect, forwarding: Note.self)
    try outbox.forward(Note.self) { handlers in
      handlers.insert { try await client.insert($0) }
      handlers.update { try await client.update($0) }
      handlers.delete { try await client.delete($0) }
    }
    switch place {
    case .directory(let directory):
      try connect.attachPersistentStore(at: directory, for: StoreConfiguration(fileName: "Notes.sqlite", type: .sqlite))
    case .postgreSQL(let url, let schema):
      let options: [String: OptionValue] = [PostgreSQLOption.schema: .string(schema)]
      try connect.attachPersistentStore(
        for: StoreConfiguration(type: .postgreSQL, options: options, location: url))
    }
    try await connect.start()
    self.connect = connect
    self.client = client
  }

  package func stop() async throws {
    await outbox.stop()
    try await connect.stop()
  }

  /// Merges the notes of the service.
  package func merge() async throws -> MergeResult {
    try await connect.execute(MergeNotes(client: client)).value
  }

  /// Deletes every note and every entry, so that a story begins with an empty store.
  package func empty() async throws {
    for entry in try await outbox.entries(limit: 10_000) { try await outbox.drop(entry.id) }
    try await connect.performBackgroundTask { context in
      context.recordsChanges = false
      _ = try context.execute(BatchDeleteRequest(Note.self))
    }
  }
}

/// The location of the notes.
package enum NotePlace: Sendable {
  /// A SQLite file in a directory.
  case directory(URL)
  /// A schema of a PostgreSQL database.
  case postgreSQL(URL, schema: String)
}
