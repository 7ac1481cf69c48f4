import ArgumentParser
import CoherenceActions
import CoherencePersistedActions
import Foundation

struct WatchActions: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Shows the unfinished and the parked actions until Control-C.",
    discussion: """
      Draws a table on a terminal. Elsewhere, or with --json, writes a line for each change: the date, the state, and \
      the action. An action that begins and ends between two reads has a line for its end only if it was seen before.
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments
  @OptionGroup var watch: WatchArguments

  @Option(help: "The greatest number of actions in each state.")
  var limit = 200

  func perform() async throws {
    let store = try ActionStore(store)
    let (actions, limit) = (store.actions, limit)
    try await watch.watch(json: output.json) { row in
      let now = try await actions.actions(idPrefix: row.id, limit: 1).first
      return now.map { $0.state.rawValue } ?? "deleted"
    } _: {
      var rows: [WatchedRow] = []
      for state in [PersistedActionState.running, .waiting, .scheduled, .parked] {
        rows += try await actions.actions(in: [state], limit: limit).map { WatchedRow($0) }
      }
      let counts = try await actions.counts()
      let title = PersistedActionState.allCases.map { "\($0.rawValue) \(counts[$0] ?? 0)" }.joined(separator: "   ")
      return WatchedRows(title: title, columns: PersistedActionInfo.columns, rows: rows)
    }
  }
}

extension WatchedRow {
  init(_ action: PersistedActionInfo) {
    self.init(
      id: action.id.uuidString, cells: action.cells, state: action.state.rawValue,
      subject: "\(action.shortID) \(action.handle.name)"
        + (action.failures.last.map { " (\(action.failedAttempts) failed: \($0.text))" } ?? ""),
      json: action.json,
      fingerprint: [
        action.state.rawValue, "\(action.failedAttempts)", "\(action.isCancelRequested)", action.dueDate.precise,
        "\(action.progress?.completedUnitCount ?? 0)",
      ])
  }
}
