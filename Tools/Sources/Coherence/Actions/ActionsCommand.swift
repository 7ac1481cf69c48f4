import ArgumentParser

/// Shows and changes the persisted actions of a store.
struct ActionsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "actions", abstract: "Shows and changes the persisted actions of a store.",
    discussion: """
      Works beside the programs that have the store open, and changes nothing but the actions that a command names. An \
      action is named by its identifier, or by the beginning of it. The parked actions are those that need a person: \
      'list --state parked' lists them. Exit codes: 0 for success, 1 after an error, 64 for wrong arguments.
      """,
    subcommands: [
      ListActions.self, ShowAction.self, ListQueues.self, WatchActions.self, RetryActions.self, CancelActions.self,
      RunActions.self, PruneActions.self,
    ], defaultSubcommand: ListActions.self)
}
