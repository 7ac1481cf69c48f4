import ArgumentParser
import CoherencePersistedActions
import CoherenceRefresh

struct ListSchedules: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the schedules with their next dates, and the statuses of refreshes.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    let store = try SchedulesStore(store)
    let schedules = try await store.schedules()
    let refreshes = try await store.refreshes()
    try output.write(
      ["refreshes": .array(refreshes.map(\.json)), "schedules": .array(schedules.map(\.json))]
    ) {
      if schedules.isEmpty, refreshes.isEmpty { return Output.line("No schedule and no refresh.") }
      if !schedules.isEmpty { Output.table(PersistedActionInfo.scheduleColumns, schedules.map(\.scheduleCells)) }
      if !schedules.isEmpty, !refreshes.isEmpty { Output.line("") }
      if !refreshes.isEmpty { Output.table(RefreshStatus.columns, refreshes.map(\.cells)) }
    }
  }
}

struct ShowSchedule: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows a schedule with its latest runs.")

  @OptionGroup var store: StoreArguments
  @Argument(help: "The name of the schedule.")
  var name: String
  @OptionGroup var output: OutputArguments

  @Option(help: "The number of runs.")
  var runs = 10

  func perform() async throws {
    let store = try ActionStore(store)
    let schedule = try await store.actions.schedule(name)
    let runs = try await store.actions.runs(ofSchedule: name, limit: max(0, runs))
    try output.write(["runs": .array(runs.map(\.json)), "schedule": schedule.json]) {
      Output.details(schedule.details)
      if !runs.isEmpty {
        Output.line("")
        Output.table(PersistedActionInfo.columns, runs.map(\.cells))
      }
    }
  }
}

struct RunSchedule: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Has the action of a schedule run now, as if its date were reached.",
    discussion: "The tool runs no action itself: a program with a worker does. The schedule continues afterwards.")

  @OptionGroup var store: StoreArguments
  @Argument(help: "The name of the schedule.")
  var name: String
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    let store = try ActionStore(store, writes: true)
    let schedule = try await store.actions.schedule(name)
    guard try await store.actions.runNow(schedule.handle) else {
      throw UsageError("The action of the schedule '\(name)' is running.")
    }
    try output.write(["run": .uuid(schedule.id)]) {
      Output.line("The action '\(schedule.handle.name)' of the schedule '\(name)' waits for a worker.")
    }
  }
}

struct WatchSchedules: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Shows the schedules and the refreshes until Control-C.",
    discussion: """
      Draws a table on a terminal. Elsewhere, or with --json, writes a line for each change: the date, the state, and \
      the schedule or refresh.
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments
  @OptionGroup var watch: WatchArguments

  func perform() async throws {
    let store = try SchedulesStore(store)
    try await watch.watch(json: output.json) {
      let schedules = try await store.schedules()
      let refreshes = try await store.refreshes()
      return WatchedRows(
        title: "schedules \(schedules.count)   refreshes \(refreshes.count)",
        columns: ["SCHEDULE OR REFRESH", "STATE", "LAST SUCCESS", "FAILURES", "NEXT", "DATES OR ERROR"],
        rows: schedules.map { WatchedRow(schedule: $0) } + refreshes.map(WatchedRow.init))
    }
  }
}

extension WatchedRow {
  /// The row of a schedule. A change of the state, the next date or the number of failures is worth a line.
  init(schedule: PersistedActionInfo) {
    let name = schedule.scheduleName ?? schedule.handle.name
    self.init(
      id: "schedule \(name)",
      cells: [
        name, schedule.state.rawValue, "–", "\(schedule.failedAttempts)", schedule.dueDate.short,
        schedule.scheduleText ?? "–",
      ], state: schedule.state.rawValue, subject: "schedule \(name), next \(schedule.dueDate.short)",
      json: schedule.json,
      fingerprint: [schedule.state.rawValue, schedule.dueDate.precise, "\(schedule.failedAttempts)"])
  }

  /// The row of a refresh. A change of the state, the last success or the number of failures is worth a line.
  init(_ status: RefreshStatus) {
    let name = ([status.name, status.type.rawValue] + (status.scope.map { [$0] } ?? [])).joined(separator: " ")
    self.init(
      id: "refresh \(name)",
      cells: [
        name, status.state, status.lastSyncTime?.short ?? "–", "\(status.failureCount)",
        status.nextAttemptTime?.short ?? "–", status.lastSyncError ?? "–",
      ], state: status.state, subject: "refresh \(name)" + (status.lastSyncError.map { " (\($0))" } ?? ""),
      json: status.json,
      fingerprint: [status.state, status.lastSyncTime?.precise ?? "", "\(status.failureCount)"])
  }
}
