import CoherenceCore
import CoherenceStrategies
import Dispatch
import Synchronization
import Testing
import TestSupport

/// Eight simultaneous writers under each strategy, on each store, and with each state of the main queue. The tests
/// check counts:
/// the columns add up to the saves that returned, and the view has what the store has.
///
/// `COHERENCE_LOAD_SAVES=2000` makes each writer save that often.
@MainActor
@Suite("Strategies under load", .serialized)
struct StrategiesUnderLoadTests {
  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `every acknowledged save is in the store while the view is edited, saved and rolled back`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stage = try LoadStage(strategy, on: backend)
    let view = try LoadView(on: stage)
    let writers = LoadWriters(on: stage)
    while !writers.areDone {
      try view.work()
      await Task.yield()
    }
    let reports = try writers.reports()
    view.settle(following: strategy != .directIndependent)
    try Self.check(stage, reports, remarks: view.acknowledged, deletedByView: view.deleted)
    try Self.check(view, has: stage.stored())
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `every acknowledged save is in the store, and then in the view, while the main queue is blocked`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stage = try LoadStage(strategy, on: backend)
    let view = try LoadView(on: stage)
    // Unsaved edits of the view during the writers' saves.
    for _ in 0..<2 { try view.work() }
    let writers = LoadWriters(on: stage)
    try #require(writers.wait(), "The writers wait for the main queue, or for each other.")
    let reports = try writers.reports()
    #expect(view.context.hasChanges, "The view lost its edits.")
    try view.save(edits: 2)
    view.settle(following: strategy != .directIndependent)
    try Self.check(stage, reports, remarks: view.acknowledged, deletedByView: view.deleted)
    try Self.check(view, has: stage.stored())
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `writers need no main queue from the first attach to the last release`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let done = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    DispatchQueue(label: "load.headless").async {
      let result = Result { try Self.runHeadless(strategy, on: backend) }
      outcome.withLock { $0 = result }
      done.signal()
    }
    // Until then the main queue is blocked.
    done.wait()
    try outcome.withLock { $0 }?.get()
  }

  private nonisolated static func runHeadless(_ strategy: StrategyKind, on backend: Backend) throws {
    let stage = try LoadStage(strategy, on: backend)
    let writers = LoadWriters(on: stage)
    try #require(writers.wait(), "The writers wait for the main queue, or for each other.")
    try check(stage, try writers.reports(), remarks: 0, deletedByView: [])
  }

  // MARK: Counts

  private nonisolated static func check(
    _ stage: LoadStage, _ reports: [LoadReport], remarks: Int, deletedByView: Set<ManagedObjectID>
  ) throws {
    let stored = try stage.stored()
    #expect(reports.count == Tally.writers)
    var tickets: Set<ManagedObjectID> = []
    var deleted = deletedByView
    for (number, report) in reports.enumerated() {
      #expect(stored.sum(ofColumn: number) == report.acknowledged, "Writer \(number) lost a save, or gained one.")
      #expect(report.acknowledged + report.refused.count == LoadStage.savesPerWriter)
      #expect(report.acknowledged > 0)
      #expect(report.largestInbox <= ManagedObjectContext.largestAllowedInbox)
      tickets.formUnion(report.inserted)
      deleted.formUnion(report.deleted)
    }
    #expect(stored.sum(ofColumn: Tally.writers) == remarks, "The view lost a save, or gained one.")
    #expect(stored.tickets == tickets.subtracting(deleted))
    #expect(reports.contains { !$0.refused.isEmpty }, "Nobody got in anybody's way: the load is too light.")
  }

  private static func check(_ view: LoadView, has stored: LoadContent) throws {
    #expect(view.shown == stored.tallies)
    #expect(try LoadContent(of: view.context) == stored)
  }
}
