import ArgumentParser
import CoherenceCore
import CoherenceOutbox

/// Shows and resolves the conflicts of an outbox.
struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts", abstract: "Shows and resolves the conflicts between edits and the server.",
    subcommands: [ListConflicts.self, ResolveConflict.self], defaultSubcommand: ListConflicts.self)
}

struct ListConflicts: ReportingCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists conflicts, the oldest first.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments

  @Option(help: "The name of the entity.")
  var entity: String?

  @Option(help: "The size of the page.")
  var limit = 50

  @Option(help: "The number of the last conflict of the page before.")
  var after: Int64?

  @Flag(help: "Show the values of both sides.")
  var values = false

  func validate() throws {
    if limit < 1 { throw ValidationError("The size of a page is at least 1.") }
  }

  func perform() async throws {
    let store = try OutboxStore(store)
    let found = try await store.outbox.conflicts(
      in: entity, limit: limit + 1, after: try after.map { try store.conflictID($0) })
    let page = found.prefix(limit)
    let next = found.count > limit ? page.last?.id.key : nil
    try output.write(
      ["conflicts": .array(page.map { $0.json(values: values) }), "next": next.map { .int($0) } ?? .null]
    ) {
      if page.isEmpty { return Output.line("No conflict.") }
      if values { page.forEach(Self.writeSides) } else { Output.table(OutboxConflict.columns, page.map(\.cells)) }
      if let next { Output.line("More: --after \(next)") }
    }
  }

  private static func writeSides(_ conflict: OutboxConflict) {
    func cell(_ value: AttributeValue?) -> String { value.map { JSON($0).cell } ?? "?" }
    Output.line("\(conflict.id.key) \(conflict.entityName) \(conflict.kind), found \(conflict.detectedDate.short)")
    guard !conflict.properties.isEmpty else { return }
    Output.table(
      ["  PROPERTY", "BASE", "LOCAL", "SERVER"],
      conflict.properties.map { ["  \($0.name)", cell($0.base), cell($0.local), cell($0.server)] })
  }
}

struct ResolveConflict: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "resolve", abstract: "Resolves a conflict in favour of the edit, which is sent.",
    discussion: """
      The tool knows the outbox and not the application's records. It resolves a conflict for the edit, by which the \
      record stays as it is. A decision for the server, and every decision over a record that the server has deleted, \
      changes the record: the application makes it. To give up an edit without the server's values, drop its entries.
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The number of the conflict.")
  var id: Int64
  @OptionGroup var output: OutputArguments

  func perform() async throws {
    let store = try OutboxStore(store, writes: true)
    let conflict = try await store.conflict(id)
    try await store.outbox.resolve(conflict.id, keeping: .local)
    try output.write(["resolved": .int(conflict.id.key)]) {
      Output.line("The conflict \(conflict.id.key) of '\(conflict.entityName)' is resolved; the edit is sent.")
    }
  }
}
