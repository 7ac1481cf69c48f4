import ArgumentParser

/// Synchronises an object graph with a web service of packages.
@main
struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coherence-demo", abstract: "Synchronises an object graph with a web service of packages.",
    subcommands: [Run.self, Serve.self, StoryClientCommand.self], defaultSubcommand: Run.self)
}
