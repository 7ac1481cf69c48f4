import ArgumentParser
import Foundation
import Logging

/// Measures Coherence against the databases' own C interfaces and GRDB.
@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coherence-bench",
    abstract: "Measures Coherence against the C interfaces of SQLite and PostgreSQL, and against GRDB.",
    discussion: """
      All sides do the same work on the same rows in one process, in turns. The figures are medians of the rounds.
      Measures: fetch, paged, groups, residual, residual-path, snapshots, stream, stream-memory, insert, faults,
      lookup, update, small-save, undo, freshness, live-result, memory, merge, merge-idle, merge-pending,
      merge-memory, actions, actions-memory, persisted-actions, persisted-actions-latency, mapping-fetch,
      mapping-decode, mapping-save, mapping-save-idle, mapping-record-save, walk, to-one-again, accessor,
      to-many-again, declared-read, declared-write, model-file, units, sqlite-units, member-count, batch-insert,
      upsert, cascade, ordered-move, postgresql-walk, postgresql-units, postgresql-fetch, postgresql-groups,
      postgresql-stream, postgresql-insert, postgresql-merge, postgresql-merge-idle, postgresql-mapping-fetch,
      postgresql-mapping-save, postgresql-persisted-actions, postgresql-persisted-actions-latency, outbox-small-save,
      outbox-save, outbox-pages, outbox-forward, and
      identity-map-find, -readers, -store, -update, -equal, -aggregate, -shared, -delivery, -transaction, -memory, -diamond, -cycle.

      With --sizes, a table of the cost of operations by the number of records is printed instead of the measures.
      --store chooses the store, --largest the largest number. --filter chooses operations by their names, and --rounds
      says how often each operation runs at each size. The command fails when the cost of one record or one call is more
      than eight times as high at the largest size as at 1,000 records.
      """)

  @Option(help: "The number of rows.")
  var rows = 100_000

  @Option(help: "The number of rounds of each side.")
  var rounds = 7

  @Option(help: "Only the measures whose name contains this text.")
  var filter: String?

  @Option(
    help: "The URL of a PostgreSQL database for temporary schemas. Without it, the PostgreSQL measures are skipped.")
  var postgres: String?

  @Option(help: "The directory for database files; the temporary directory by default.")
  var directory: String?

  @Flag(help: "Print the figures as JSON.")
  var json = false

  @Flag(help: "Measure the C interfaces and GRDB alone.")
  var baselines = false

  @Flag(help: "Fail when a goal is missed.")
  var strict = false

  @Flag(help: "Print the cost of operations by the number of records instead, and fail when a cost grows.")
  var sizes = false

  @Option(help: "With --sizes: the kind of store, memory, sqlite or postgresql.")
  var store = SizeStoreKind.memory

  @Option(help: "With --sizes: the largest number of records.")
  var largest = 100_000

  func validate() throws {
    guard rows >= 1000 else { throw ValidationError("--rows takes 1000 or more.") }
    guard rounds >= 1 else { throw ValidationError("--rounds takes 1 or more.") }
    guard largest >= 10_000 else { throw ValidationError("--largest takes 10000 or more.") }
    guard !sizes || store != .postgresql || postgres != nil else {
      throw ValidationError("--store postgresql needs --postgres.")
    }
  }

  func run() throws {
    // The stores' log would stand between the figures.
    LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    let place = directory.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    if sizes { return try printSizeTable(at: place) }
    let bench = try Workbench(rows: rows, directory: place, postgreSQL: postgres)
    let outcomes = try chosenMeasures(of: bench).map { try outcome(of: $0) }
    let report = Report(
      machine: .current, databases: try Databases(bench), rows: rows, rounds: rounds, outcomes: outcomes)
    print(try json ? report.json() : report.text())
    if strict, !report.isMet { throw ExitCode.failure }
  }

  private func chosenMeasures(of bench: Workbench) throws -> [Measure] {
    let chosen = bench.measures().filter { filter == nil || $0.name.contains(filter ?? "") }
    guard !chosen.isEmpty else { throw ValidationError("No measure has a name that contains '\(filter ?? "")'.") }
    return baselines ? chosen.map { $0.withoutOurs() } : chosen
  }

  private func outcome(of measure: Measure) throws -> Outcome {
    let race = Race(rounds: rounds) { round, side in
      FileHandle.standardError.write(Data("\(measure.name) \(round + 1)/\(rounds): \(side.name)\n".utf8))
    }
    return Outcome(measure, amounts: try race.run(measure))
  }
}
