import ArgumentParser
import CoherencePersistedActions
import Foundation

struct ListActions: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists actions, the latest enqueued last.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments

  @Option(help: "A state; may be repeated: scheduled, waiting, running, succeeded, canceled or parked.")
  var state: [PersistedActionState] = []

  @Option(help: "The name of the actions.")
  var name: String?

  @Option(help: "The queue.")
  var queue: String?

  @Option(help: "The size of the page.")
  var limit = 50

  @Option(help: "The last action of the page before.")
  var after: String?

  func validate() throws {
    if limit < 1 { throw ValidationError("The size of a page is at least 1.") }
  }

  func perform() async throws {
    let store = try ActionStore(store)
    var last: PersistedActionInfo?
    if let after { last = try await store.action(after) }
    let found = try await store.actions.actions(
      in: Set(state), named: name, queue: queue, limit: limit + 1, after: last)
    let page = found.prefix(limit)
    let next = found.count > limit ? page.last?.id : nil
    try output.write(["actions": .array(page.map(\.json)), "next": .uuid(next)]) {
      if page.isEmpty { return Output.line("No action.") }
      Output.table(PersistedActionInfo.columns, page.map(\.cells))
      if let next { Output.line("More: --after \(next.uuidString)") }
    }
  }
}

struct ShowAction: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows an action with its failures.")

  @OptionGroup var store: StoreArguments
  @Argument(help: "The identifier of the action, or its beginning.")
  var id: String
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    let action = try await ActionStore(store).action(id)
    try output.write(action.json) { Output.details(action.details) }
  }
}

struct ListQueues: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "queues", abstract: "Lists the queues with their numbers of actions.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    let queues = try await ActionStore(store).actions.queues().sorted { $0.key < $1.key }
    let states = PersistedActionState.allCases
    let json = queues.map { name, counts -> JSON in
      var object: [String: JSON] = ["queue": .string(name)]
      for state in states { object[state.rawValue] = .number(counts[state] ?? 0) }
      return .object(object)
    }
    try output.write(["queues": .array(json)]) {
      if queues.isEmpty { return Output.line("No action.") }
      Output.table(
        ["QUEUE"] + states.map { $0.rawValue.uppercased() },
        queues.map { name, counts in [name] + states.map { "\(counts[$0] ?? 0)" } })
    }
  }
}
