import ArgumentParser
import CoherenceCore
import CoherenceOutbox
import Foundation

struct ListEntries: ReportingCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists entries, the oldest first.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments

  @Option(help: "The state of the entries: pending, sending or parked.")
  var state: EntryState?

  @Option(help: "The name of the entity.")
  var entity: String?

  @Option(help: "The size of the page.")
  var limit = 50

  @Option(help: "The position behind which the page begins, as the page before has printed it.")
  var after: String?

  @Flag(help: "Show the values of the records in JSON.")
  var values = false

  func validate() throws {
    if limit < 1 { throw ValidationError("The size of a page is at least 1.") }
    if values, !output.json { throw ValidationError("A list shows values in JSON only; add --json, or use 'show'.") }
  }

  func perform() async throws {
    let store = try OutboxStore(store)
    let found = try await store.entries(
      in: entity, state: state?.state, limit: limit + 1, after: try after.map(store.cursor))
    let page = found.prefix(limit)
    let next = found.count > limit ? try page.last.map { try OutboxStore.text(of: $0.cursor) } : nil
    let counts = try await store.outbox.counts(in: entity)
    let numbers: JSON = [
      "pending": .number(counts.pending), "sending": .number(counts.sending), "parked": .number(counts.parked),
    ]
    try output.write(
      ["counts": numbers, "entries": .array(page.map { $0.json(values: values) }), "next": .text(next)]
    ) {
      if page.isEmpty { return Output.line("No entry.") }
      Output.table(OutboxEntry.columns, page.map(\.cells))
      Output.line("\(counts.pending) pending, \(counts.sending) being sent, \(counts.parked) parked.")
      if let next { Output.line("More: --after \(next)") }
    }
  }
}

struct ShowEntry: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows an entry, with its values on request.")

  @OptionGroup var store: StoreArguments
  @Argument(help: "The identifier of the entry, as a list shows it: 57, or log:57 for a save that cannot be read.")
  var id: EntryID
  @OptionGroup var output: OutputArguments

  @Flag(help: "Show the values of the record.")
  var values = false

  func perform() async throws {
    let entry = try await OutboxStore(store).entry(id)
    try output.write(entry.json(values: values)) { Output.details(entry.details(values: values)) }
  }
}

struct WatchEntries: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Shows the entries until Control-C.",
    discussion: """
      Draws a table on a terminal. Elsewhere, or with --json, writes a line for each change: the date, the state, and \
      the entry. An entry that was sent or dropped is 'removed'. An entry that is added and sent between two reads \
      has no line.
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var output: OutputArguments
  @OptionGroup var watch: WatchArguments

  @Option(help: "The greatest number of entries.")
  var limit = 200

  func perform() async throws {
    let (store, limit) = (try OutboxStore(store), limit)
    try await watch.watch(json: output.json) {
      let outbox = store.outbox
      let entries = try await store.entries(limit: limit)
      let counts = try await outbox.counts()
      let conflicts = try await outbox.conflictCount()
      let title =
        "pending \(counts.pending)   sending \(counts.sending)   parked \(counts.parked)   conflicts \(conflicts)"
      return WatchedRows(title: title, columns: OutboxEntry.columns, rows: entries.map(WatchedRow.init))
    }
  }
}

extension WatchedRow {
  init(_ entry: OutboxEntry) {
    self.init(
      id: entry.id.isTemporaryID ? entry.idempotencyKey.uuidString : "\(entry.entryID)", cells: entry.cells,
      state: entry.stateText,
      subject: "\(entry.idText) \(entry.kind) \(entry.entityName) \(entry.record.key)"
        + (entry.lastError.map { " (attempt \(entry.attempts): \($0))" } ?? ""),
      json: entry.json(values: false),
      fingerprint: [entry.stateText, "\(entry.attempts)", entry.lastError ?? "", "\(entry.kind)"])
  }
}
