import ArgumentParser
import DemoClient
import Foundation

/// The options of the offline story.
struct StoryOptions: ParsableArguments {
  @Flag(help: "Tell the story of edits without a service instead: a kill, conflicts, and checks of both sides.")
  var offlineStory = false

  @Flag(help: "Let the service of the story forget idempotency keys. The checks of the story find it.")
  var forgetful = false

  @Option(help: .hidden)
  var storySchema = "coherence_demo_notes"

  /// The time limit of the story in seconds. Tests on a busy machine set a longer limit.
  @Option(help: .hidden)
  var storyLimit = 28

  func validate() throws {
    if forgetful, !offlineStory { throw ValidationError("--forgetful is an option of --offline-story.") }
  }
}

/// The location of the notes in the story, for the clients that the story starts.
struct StoryStore: Sendable {
  /// The arguments of a client.
  let arguments: [String]
  /// The name of the location. A password in a URL is left out.
  let description: String

  init(_ store: StoreOptions, schema: String) {
    switch store.place {
    case .directory(let url):
      let directory = url.appendingPathComponent("OfflineStory", isDirectory: true).path
      arguments = ["--directory", directory]
      description = "SQLite in \(directory)"
    case .postgreSQL(let url):
      arguments = ["--postgres", url.absoluteString, "--schema", schema]
      description = store.description
    }
  }
}

/// The location of the notes, as options of a client of the story.
struct NoteStoreOptions: ParsableArguments {
  @Option var directory: String?
  @Option var postgres: String?
  @Option var schema = ""

  var place: NotePlace {
    if let postgres, let url = URL(string: postgres) { return .postgreSQL(url, schema: schema) }
    return .directory(URL(fileURLWithPath: directory ?? "", isDirectory: true))
  }
}
