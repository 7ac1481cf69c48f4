import CoherenceIdentityMap

/// The messages of a chat as lines of text, updated with each change.
struct Feed {
  private let messages: EntityObserver<[Message]>
  private let subscription: EntityStore.Subscription

  /// - Parameter write: Called with a line for each inserted, changed or removed message.
  init(of store: EntityStore, write: @escaping @Sendable (String) -> Void) {
    messages = store.query(Message.self, sortedBy: \.id)
    subscription = messages.observeChanges { change in
      for _ in change.removals { write("- a message is gone") }
      for place in change.insertions { write("+ \(Self.line(change.entities[place]))") }
      for place in change.updates { write("~ \(Self.line(change.entities[place]))") }
    }
  }

  /// The present lines of the feed.
  var lines: [String] { messages.current.map(Self.line) }

  private static func line(_ message: Message) -> String {
    let (author, likes) = (message.author, message.likes)
    return "\(author.name)\(author.isAway ? " (away)" : ""): \(message.text)\(likes > 0 ? "  [+\(likes)]" : "")"
  }
}
