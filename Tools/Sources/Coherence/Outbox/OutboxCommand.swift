import ArgumentParser

/// Shows and changes the outbox of a store.
struct OutboxCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox", abstract: "Shows and changes the outbox of a store.",
    discussion: """
      Works beside the programs that have the store open, and changes nothing but the entries that a command names. \
      Values of records are shown with --values alone. The parked entries are those that need a person: \
      'list --state parked' lists them. An identifier such as log:57 names a save that cannot be read: it can be shown \
      and dropped. Exit codes: 0 for success, 1 after an error, 64 for wrong arguments.
      """,
    subcommands: [
      ListEntries.self, ShowEntry.self, WatchEntries.self, RetryEntries.self, ParkEntries.self, DropEntries.self,
      ConflictsCommand.self,
    ], defaultSubcommand: ListEntries.self)
}
