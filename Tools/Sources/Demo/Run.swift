import ArgumentParser
import DemoClient
import DemoService
import Foundation
import Interrupts
import Logging

/// Synchronizes the store with the service and prints a report.
struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Pull the packages from a service into a store, and ask the graph (the default).",
    discussion: """
      Serves the packages of this machine on the loopback interface, unless --url names another service. Run it twice: \
      the second run writes nothing. Press Control-C at any moment: the next run continues from there.

      With --offline-story the demo shows an outbox instead: a user edits while the service is down, the program is \
      killed while it sends, and another user changes the same notes.
      """)

  @OptionGroup(title: "Served packages") var source: CatalogOptions
  @OptionGroup(title: "Store") var store: StoreOptions
  @OptionGroup(title: "Offline story") var story: StoryOptions

  @Option(help: ArgumentHelp("Pull from the service at this URL, as `serve` prints it.", valueName: "url"))
  var url: String?

  @Option(
    help: ArgumentHelp(
      "Edit this many packages at the service first. The edits are lost when the service ends.", valueName: "count"))
  var edit = 0

  @Option(help: ArgumentHelp("Show what this package needs, directly and indirectly.", valueName: "package"))
  var needs: String?

  @Option(help: ArgumentHelp("Packages on a page.", valueName: "count"))
  var pageSize = 100

  @Option(help: ArgumentHelp("Wait this long after each page, to have time to interrupt.", valueName: "milliseconds"))
  var pause = 0

  @Flag(help: "Write the framework's log to standard error.")
  var verbose = false

  func validate() throws {
    if !(1...1000).contains(pageSize) { throw ValidationError("--page-size takes a number from 1 to 1000.") }
    if edit < 0 || pause < 0 { throw ValidationError("--edit and --pause take numbers from 0 on.") }
    if let url, URL(string: url)?.host == nil { throw ValidationError("--url takes one like http://127.0.0.1:8080.") }
  }

  func run() async throws {
    if story.offlineStory { return try await tellStory() }
    let service = try await startedService()
    let logger = verbose ? Logger.standardError : .silent
    let stack = try await DemoStack(place: store.place, reset: store.reset, logger: logger)
    let terminal = Terminal()
    terminal.write("Packages from \(service.url.absoluteString)\n")
    terminal.write("Catalog in \(store.description); session in memory; strategy Mixed\n\n")
    let client = ServiceClient(base: service.url, logger: logger)
    let session = Session(stack: stack, service: client, terminal: terminal, options: self)
    let work = Task { try await session.run() }
    let interrupt = Interrupt { work.cancel() }
    let result = await work.result
    try await stack.stop()
    await service.running?.stop()
    withExtendedLifetime(interrupt) {}
    if case .failure(let error) = result {
      guard work.isCancelled else { throw error }
      throw ExitCode(130)
    }
  }

  private func tellStory() async throws {
    try await OfflineStory(
      store: StoryStore(store, schema: story.storySchema), terminal: Terminal(), isForgetful: story.forgetful,
      isVerbose: verbose, longest: .seconds(story.storyLimit)
    ).run()
  }

  /// The service of the packages. Started by this command unless the user names another service.
  private func startedService() async throws -> (url: URL, running: CatalogService?) {
    if let url, let address = URL(string: url) { return (address, nil) }
    let service = CatalogService(catalog: try source.catalog())
    return (try await service.start(), service)
  }
}
