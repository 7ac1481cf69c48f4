import Coherence
import DemoService

/// Makes the store equal to the service.
///
/// Each of the three steps can be repeated, so that running again continues an interrupted run: existing records are
/// found unchanged and not written.
/// 1. An action merges each page: packages, with their sections and maintainers.
/// 2. Packages are linked to the packages that they need, all of which exist after step 1.
/// 3. Records missing from the service are deleted.
package struct CatalogSync: Sendable {
  private let connect: DemoStack.Connect
  private let service: ServiceClient
  private let pageSize: Int
  private let ledger: ActionLedger
  private let progress: @Sendable (SyncStep) async -> Void

  /// - Parameter progress: Called after each part of a step, before the next one begins.
  package init(
    _ stack: DemoStack, service: ServiceClient, pageSize: Int = 100, ledger: ActionLedger = ActionLedger(),
    progress: @escaping @Sendable (SyncStep) async -> Void = { _ in }
  ) {
    connect = stack.connect
    self.service = service
    self.pageSize = pageSize
    self.ledger = ledger
    self.progress = progress
  }

  /// Edits packages at the service and returns their names.
  package func edit(_ count: Int) async throws -> [String] {
    try await value(of: try connect.execute(EditPackages(service: service, count: count)))
  }

  /// Synchronizes the store. Cancelling the task cancels the running action, and keeps the merged pages.
  package func run() async throws -> SyncOutcome {
    var outcome = SyncOutcome()
    let records = try await pull(&outcome)
    try await link(records, &outcome)
    if outcome.isComplete { try await prune(but: records, &outcome) }
    return outcome
  }

  // MARK: Steps

  private func pull(_ outcome: inout SyncOutcome) async throws -> [PackageRecord] {
    var records: [PackageRecord] = []
    var totals: Set<Int> = []
    var page = 1
    var pages = 1
    while page <= pages {
      let output = try await value(of: try connect.execute(PullPage(service: service, page: page, size: pageSize)))
      ledger.add(try connect.execute(RecordPage(answer: output.answer)))
      let content = output.answer.content
      records += content.packages
      totals.insert(content.total)
      pages = content.pages
      outcome.changes += output.changes
      try await report(.pulling, page, of: max(pages, page))
      page += 1
    }
    // The pages shift if the catalog changes during the pull. A package can then be missing in all pages, but is not
    // deleted.
    outcome.isComplete = totals == [Set(records.map(\.name)).count]
    return records
  }

  private func link(_ records: [PackageRecord], _ outcome: inout SyncOutcome) async throws {
    // A page that the catalog has shifted may lack a package, or repeat a package of the page before.
    let known = Set(records.map(\.name))
    let starts = Array(stride(from: 0, to: records.count, by: pageSize))
    for (index, start) in starts.enumerated() {
      let part = records[start..<min(start + pageSize, records.count)]
      let dependencies = Dictionary(
        part.map { ($0.name, $0.depends.filter(known.contains)) }, uniquingKeysWith: { _, later in later })
      let changes = try await value(of: try connect.execute(LinkPackages(dependencies: dependencies)))
      outcome.relinked += changes.updated
      try await report(.linking, index + 1, of: starts.count)
    }
  }

  /// Deletes the records that the service does not have: packages first, so that no section or maintainer is deleted
  /// before its packages.
  private func prune(but records: [PackageRecord], _ outcome: inout SyncOutcome) async throws {
    let packages = Prune<Package>(records: records.map { MergeRecord(["name": $0.name]) })
    outcome.changes.deleted += try await value(of: try connect.execute(packages)).deleted
    try await report(.pruning, 1, of: 3)
    let sections = Prune<Section>(records: Set(records.map(\.section)).sorted().map(Section.record))
    outcome.changes.deleted += try await value(of: try connect.execute(sections)).deleted
    try await report(.pruning, 2, of: 3)
    let maintainers = Prune<Maintainer>(records: Set(records.map(\.maintainer)).map(Maintainer.record))
    outcome.changes.deleted += try await value(of: try connect.execute(maintainers)).deleted
    try await report(.pruning, 3, of: 3)
  }

  // MARK: Actions

  /// Waits for an action, whose statistics become part of the ledger. Cancelling the task cancels the action.
  private func value<Output>(of handle: ActionHandle<Output>) async throws -> Output {
    ledger.add(handle)
    return try await withTaskCancellationHandler {
      try await handle.value
    } onCancel: {
      handle.cancel()
    }
  }

  /// Reports the progress, and throws `CancellationError` between two actions of a cancelled task.
  private func report(_ phase: SyncStep.Phase, _ done: Int, of total: Int) async throws {
    await progress(SyncStep(phase: phase, done: done, total: total))
    try Task.checkCancellation()
  }
}

/// The result of a synchronization.
package struct SyncOutcome: Sendable, Equatable {
  /// Packages, sections and maintainers.
  package var changes = Changes()
  /// The number of packages with changed dependencies.
  package var relinked = 0
  /// Whether the pages had as many packages as the service counted, on all pages alike. Otherwise the catalog has changed
  /// during the pull, and no record was deleted.
  package var isComplete = false
}
