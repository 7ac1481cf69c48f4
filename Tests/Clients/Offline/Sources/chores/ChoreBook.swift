import Coherence
import CoherenceOutbox
import Foundation

/// The chores of one device, with the edits that the server does not have yet.
struct ChoreBook: Sendable {
  static let model = Result { try ManagedObjectModel(Chore.self, name: "Chores").addingOutbox() }

  let connect: GenericConnect<ContextStrategy.Mixed>
  let outbox: Outbox
  let server: ChoreServer

  /// Opens the store, in a file or in memory.
  init(server: ChoreServer, in type: StoreType = .sqlite) async throws {
    self.server = server
    connect = GenericConnect(name: "Chores", managedObjectModel: try Self.model.get())
    outbox = try Outbox(connect, forwarding: Chore.self)
    try outbox.forward(Chore.self) { handlers in
      handlers.insert { try await $0.send(.insert, to: server) }
      handlers.update { try await $0.send(.update, to: server) }
      handlers.delete { try await $0.send(.delete, to: server) }
    }
    try connect.attachPersistentStore(for: StoreConfiguration(type: type))
    try await connect.start()
  }

  func close() async throws {
    await outbox.stop()
    try await connect.stop(.drain)
  }

  // MARK: Edits of the user

  func add(_ title: String) async throws {
    try await connect.performBackgroundTask { context in
      try Chore(context: context).title = title
      try context.save()
    }
  }

  func rename(_ title: String, to newTitle: String) async throws {
    try await connect.performBackgroundTask { context in
      for chore in try context.fetch(FetchRequest(Chore.self).filter { $0.title == title }) { chore.title = newTitle }
      try context.save()
    }
  }

  func delete(_ title: String) async throws {
    try await connect.performBackgroundTask { context in
      for chore in try context.fetch(FetchRequest(Chore.self).filter { $0.title == title }) { context.delete(chore) }
      try context.save()
    }
  }

  // MARK: Lists

  /// Returns a line for each chore, each conflict, and the number of edits that wait.
  func lines() async throws -> [String] {
    var lines = try await connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Chore.self).sort(\.title)).map { "\($0.title), revision \($0.revision)" }
    }
    for conflict in try await outbox.conflicts() {
      for property in conflict.properties {
        lines.append("conflict: \(property.name) is \(text(property.local)) here, \(text(property.server)) there")
      }
      if conflict.properties.isEmpty { lines.append("conflict: a chore was deleted there") }
    }
    lines.append("waiting entries: \(try await outbox.counts().total)")
    return lines
  }

  private func text(_ value: AttributeValue?) -> String {
    if case .string(let text)? = value { text } else { "unknown" }
  }
}
