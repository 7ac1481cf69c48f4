import ArgumentParser
import CoherenceIdentityMap

/// Shows the live feed of a chat, whose authors and messages are entities of an identity map.
@main
struct Chat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coherence-chat", abstract: "Shows the live feed of a chat, held together by the identity map.",
    discussion: "A line with + is a new message, with ~ a changed one, and with - a removed one.")

  @Option(help: "The number of events.")
  var events = 20

  @Option(help: "The seed of the random events.")
  var seed: UInt64 = 1

  @Option(help: "Seconds between two events.")
  var pause = 0.2

  func validate() throws {
    guard events >= 0 else { throw ValidationError("--events takes 0 or more.") }
    guard pause >= 0 else { throw ValidationError("--pause takes 0 or more.") }
  }

  func run() async throws {
    let store = EntityStore(delivery: .immediate)
    let client = Client(store)
    let feed = Feed(of: store) { print($0) }
    for event in Room(seed: seed).prefix(events) {
      client.receive(event)
      try await Task.sleep(for: .seconds(pause))
    }
    let mine = client.send(Message(id: .max, text: "Is anybody there?", author: Author(id: -1, name: "You")))
    try await Task.sleep(for: .seconds(pause))
    mine.rollback()
    print("\nThe server did not take your message. What is left:\n")
    for line in feed.lines { print("  \(line)") }
  }
}
