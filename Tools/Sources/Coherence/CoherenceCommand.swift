import ArgumentParser

/// The command line tool of the framework.
@main
struct CoherenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coherence", abstract: "Works with models of Coherence.", subcommands: [Generate.self])
}
