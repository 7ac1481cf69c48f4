import ArgumentParser

/// The command line tool of the framework.
@main
struct CoherenceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coherence", abstract: "Works with models and stores of Coherence.",
    subcommands: [Generate.self, ActionsCommand.self, OutboxCommand.self, ScheduleCommand.self])
}
