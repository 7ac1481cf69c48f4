import ArgumentParser
import DemoClient
import Foundation
import Logging

/// The hidden command that runs one task of the story's client.
struct StoryClientCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "story-client", abstract: "Does a part of the client's work in the offline story.",
    shouldDisplay: false)

  @Argument(transform: { try StoryClientCommand.task($0) }) var task: StoryTask
  @Option var url: String
  @OptionGroup var store: NoteStoreOptions
  @Flag var verbose = false

  func run() async throws {
    guard let service = URL(string: url) else { throw ValidationError("--url takes one like http://127.0.0.1:8080.") }
    let stack = try await NoteStack(
      place: store.place, service: service, logger: verbose ? .standardError : .silent)
    let client = StoryClient(stack, tell: { Self.write($0) }, pause: { _ = readLine() })
    try await client.run(task)
    try await stack.stop()
  }

  private static func task(_ name: String) throws -> StoryTask {
    guard let task = StoryTask(rawValue: name) else {
      throw ValidationError("The client has no work '\(name)'; --offline-story starts it.")
    }
    return task
  }

  /// Writes a message as a line, at once.
  private static func write(_ message: StoryMessage) {
    guard let line = try? JSONEncoder().encode(message) else { return }
    try? FileHandle.standardOutput.write(contentsOf: line + Data("\n".utf8))
  }
}
