import ArgumentParser
import CoherencePersistedActions

struct RetryActions: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Has parked and canceled actions run again, with all of their attempts.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var ids: ActionIDs
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    try await ActionChange(
      verb: "retried", sentence: "waits for a worker", refusal: "is neither parked nor canceled"
    ).perform(store, ids.ids, output) { try await $0.retry($1) }
  }
}

struct CancelActions: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Cancels actions: at once while they wait, and by a request to their worker while they run.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var ids: ActionIDs
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    try await ActionChange(
      verb: "canceled", sentence: "is canceled, or will be by its worker", refusal: "has finished"
    ).perform(store, ids.ids, output) { try await $0.cancel($1) }
  }
}

struct RunActions: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Has scheduled actions wait for a worker now.",
    discussion: "The tool runs no action itself: a program with a worker does.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var ids: ActionIDs
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    try await ActionChange(
      verb: "run", sentence: "waits for a worker", refusal: "is running or has finished"
    ).perform(store, ids.ids, output) { try await $0.runNow($1) }
  }
}

/// A change of some actions.
struct ActionChange {
  /// The key of the list of changed actions in JSON.
  let verb: String
  /// The messages about an action, without its name.
  let sentence: String
  let refusal: String

  /// Changes the actions in turn. Changes none of them if an identifier is unknown.
  func perform(
    _ arguments: StoreArguments, _ ids: [String], _ output: OutputArguments,
    _ change: (PersistedActions, PersistedActionHandle) async throws -> Bool
  ) async throws {
    let store = try ActionStore(arguments, writes: true)
    var changed: [PersistedActionInfo] = []
    var refused: [PersistedActionInfo] = []
    for action in try await store.actions(ids) {
      if try await change(store.actions, action.handle) { changed.append(action) } else { refused.append(action) }
    }
    try output.write(
      [verb: .array(changed.map { .uuid($0.id) }), "refused": .array(refused.map { .uuid($0.id) })]
    ) {
      for action in changed { Output.line("\(action.shortID) \(action.handle.name) \(sentence).") }
    }
    for action in refused { Output.error("The action \(action.shortID) '\(action.handle.name)' \(refusal).") }
    if !refused.isEmpty { throw ExitCode.failure }
  }
}

struct PruneActions: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Deletes finished actions that have ended some time ago.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments

  @Option(help: "The time since the end of the actions: a number with s, m, h or d.")
  var olderThan: Period

  @Option(help: "A state; may be repeated: succeeded, canceled or parked. Without it, succeeded and canceled actions.")
  var state: [PersistedActionState] = []

  func validate() throws {
    if let state = state.first(where: { !$0.isFinal }) {
      throw ValidationError("An action that is \(state.rawValue) has not finished; name a final state.")
    }
  }

  func perform() async throws {
    let states: Set<PersistedActionState> = state.isEmpty ? [.succeeded, .canceled] : Set(state)
    func period(_ state: PersistedActionState) -> Duration? { states.contains(state) ? olderThan.duration : nil }
    let retention = PersistedActionRetention(
      succeeded: period(.succeeded), canceled: period(.canceled), parked: period(.parked))
    let count = try await ActionStore(store, writes: true).actions.prune(retention)
    try output.write(["pruned": .number(count)]) {
      Output.line("\(count) \(count == 1 ? "action" : "actions") deleted.")
    }
  }
}
