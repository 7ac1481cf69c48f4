import CoherenceIdentityMap
import Synchronization
import Testing

@testable import coherence_chat

@Suite("The chat")
struct ChatTests {
  private let store = EntityStore(delivery: .immediate)

  @Test func `a new name shows in every message of its author`() {
    let client = Client(store)
    let (feed, written) = watched()
    let ada = Author(id: 1, name: "Ada")
    client.receive(.said(Message(id: 1, text: "Good morning.", author: ada)))
    client.receive(.said(Message(id: 2, text: "Lunch?", author: Author(id: 2, name: "Alan"))))
    client.receive(.said(Message(id: 3, text: "It is green.", author: ada)))
    client.receive(.renamed(author: 1, to: "Countess"))
    #expect(feed.lines == ["Countess: Good morning.", "Alan: Lunch?", "Countess: It is green."])
    #expect(
      written.lines == [
        "+ Ada: Good morning.", "+ Alan: Lunch?", "+ Ada: It is green.", "~ Countess: Good morning.",
        "~ Countess: It is green.",
      ])
  }

  @Test func `the feed shows likes, absences and deletions at once`() {
    let client = Client(store)
    let (feed, written) = watched()
    client.receive(.said(Message(id: 1, text: "Look at this.", author: Author(id: 1, name: "Grace"))))
    client.receive(.liked(message: 1))
    client.receive(.liked(message: 1))
    client.receive(.away(author: 1, true))
    #expect(feed.lines == ["Grace (away): Look at this.  [+2]"])
    client.receive(.deleted(message: 1))
    #expect(feed.lines == [] && written.lines.last == "- a message is gone")
  }

  @Test func `a message rejected by the server disappears`() {
    let client = Client(store)
    let (feed, _) = watched()
    let author = Author(id: 1, name: "You")
    let refused = client.send(Message(id: 1, text: "first", author: author))
    let taken = client.send(Message(id: 2, text: "second", author: author))
    #expect(feed.lines == ["You: first", "You: second"])
    refused.rollback()
    taken.commit()
    #expect(feed.lines == ["You: second"])
  }

  @Test func `a feed keeps the last fifty messages and their authors`() {
    let client = Client(store)
    let (feed, _) = watched()
    for id in 1...60 { client.receive(.said(Message(id: id, text: "\(id)", author: Author(id: id, name: "A")))) }
    #expect(feed.lines == (11...60).map { "A: \($0)" })
    #expect(store.count(of: Author.self) == 50)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the same seed generates the same room, and the feed shows all of its events`(seed: UInt64) {
    let client = Client(store)
    let (feed, _) = watched()
    let events = Array(Room(seed: seed).prefix(100))
    #expect(events == Array(Room(seed: seed).prefix(100)))
    for event in events { client.receive(event) }
    #expect(feed.lines == expected(events))
  }

  /// The feed, worked out without the store.
  private func expected(_ events: [Event]) -> [String] {
    var (messages, authors): ([Message], [Author.ID: Author]) = ([], [:])
    for event in events {
      switch event {
      case .said(let message):
        messages.append(message)
        authors[message.author.id] = message.author
      case .liked(let id): for place in messages.indices where messages[place].id == id { messages[place].likes += 1 }
      case .renamed(let id, let name): authors[id]?.name = name
      case .away(let id, let isAway): authors[id]?.isAway = isAway
      case .deleted(let id): messages.removeAll { $0.id == id }
      }
    }
    return messages.map { message in
      let author = authors[message.author.id] ?? message.author
      let likes = message.likes > 0 ? "  [+\(message.likes)]" : ""
      return "\(author.name)\(author.isAway ? " (away)" : ""): \(message.text)\(likes)"
    }
  }

  private func watched() -> (feed: Feed, written: Written) {
    let written = Written()
    return (Feed(of: store) { written.append($0) }, written)
  }
}

/// The lines of a feed, from any thread.
private final class Written: Sendable {
  private let list = Mutex<[String]>([])

  var lines: [String] { list.withLock { $0 } }

  func append(_ line: String) {
    list.withLock { $0.append(line) }
  }
}
