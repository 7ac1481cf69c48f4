import ArgumentParser

/// Shows and changes the schedules and refreshes of a store.
struct ScheduleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schedule", abstract: "Shows the schedules of actions and the statuses of refreshes.",
    discussion: """
      A schedule has an action run again and again; its record in the store has the next date. The status of a refresh \
      has its last success and its failures. Exit codes: 0 for success, 1 after an error, 64 for wrong arguments.
      """,
    subcommands: [ListSchedules.self, ShowSchedule.self, RunSchedule.self, WatchSchedules.self],
    defaultSubcommand: ListSchedules.self)
}
