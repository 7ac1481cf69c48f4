import ArgumentParser
import CoherenceCore
import CoherenceOutbox

struct RetryEntries: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Retries entries, in their order.",
    discussion: "The tool sends nothing itself: a program with a started outbox does.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var ids: EntryIDs
  @OptionGroup var output: OutputArguments

  @Flag(help: "All parked entries.")
  var all = false

  @Option(help: "With --all, the name of the entity.")
  var entity: String?

  func validate() throws {
    guard all == ids.ids.isEmpty else { throw ValidationError("Name entries, or give --all for all parked ones.") }
    if entity != nil, !all { throw ValidationError("An entity is named together with --all.") }
  }

  func perform() async throws {
    let store = try OutboxStore(store, writes: true)
    if all {
      let count = try await store.outbox.retryAll(in: entity)
      return try output.write(["retried": .number(count)]) {
        Output.line("\(count) \(count == 1 ? "entry is" : "entries are") sent again.")
      }
    }
    let entries = try await store.entries(ids.ids)
    for entry in entries { try await store.outbox.retry(entry.id) }
    try output.write(["retried": .number(entries.count)]) {
      for entry in entries { Output.line("The entry \(entry.entryID) of '\(entry.entityName)' is sent again.") }
    }
  }
}

struct ParkEntries: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "park", abstract: "Keeps entries from being sent until they are retried.")

  @OptionGroup var store: StoreArguments
  @OptionGroup var ids: EntryIDs
  @OptionGroup var output: OutputArguments

  @Option(help: "The reason, for lists.")
  var reason: String?

  func validate() throws {
    if ids.ids.isEmpty { throw ValidationError("Name the entries to park.") }
  }

  func perform() async throws {
    let store = try OutboxStore(store, writes: true)
    let entries = try await store.entries(ids.ids)
    for entry in entries { try await store.outbox.park(entry.id, error: reason) }
    try output.write(["parked": .number(entries.count)]) {
      for entry in entries { Output.line("The entry \(entry.entryID) of '\(entry.entityName)' is parked.") }
    }
  }
}

struct DropEntries: ReportingCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop", abstract: "Removes entries without sending them. The records keep their values.",
    discussion: """
      The server never gets the change. The insert of a record is dropped with all entries of the record, and an entry \
      that was attempted together with later ones is dropped with these.
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var ids: EntryIDs
  @OptionGroup var output: OutputArguments

  func validate() throws {
    if ids.ids.isEmpty { throw ValidationError("Name the entries to drop.") }
  }

  func perform() async throws {
    let store = try OutboxStore(store, writes: true)
    let entries = try await store.entries(ids.ids)
    var count = 0
    for entry in entries {
      // The change of an earlier entry in the list may have removed this entry too.
      do { count += try await store.outbox.drop(entry.id) } catch ErrorCode.objectNotFound where count > 0 {}
    }
    try output.write(["dropped": .number(count)]) {
      Output.line("\(count) \(count == 1 ? "entry" : "entries") dropped.")
    }
  }
}
