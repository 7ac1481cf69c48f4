import CoherenceIdentityMap

/// A client of a chat, which stores the server's messages. The client does not depend on any view of the messages.
struct Client {
  let store: EntityStore

  init(_ store: EntityStore) {
    self.store = store
    // The store retains the last fifty messages and their authors.
    store.setPolicy(for: Message.self) { $0.lifetime = .last(50) }
  }

  /// Applies an event in one call. The store updates every value that contains the author or the message.
  func receive(_ event: Event) {
    switch event {
    case .said(let message): store.store(message)
    case .liked(let id): store.update(Message.self, id: id) { $0.likes += 1 }
    case .renamed(let id, let name): store.update(Author.self, id: id) { $0.name = name }
    case .away(let id, let isAway): store.update(Author.self, id: id) { $0.isAway = isAway }
    case .deleted(let id): store.remove(Message.self, id: id)
    }
  }

  /// Shows a message at once, before the server's reply.
  /// - Returns: The tentative change, to be confirmed with `commit` or reverted with `rollback`.
  func send(_ message: Message) -> OptimisticChange {
    store.optimistically { $0.store(message) }
  }
}
