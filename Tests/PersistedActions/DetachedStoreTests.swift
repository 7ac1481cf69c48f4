import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// A store that is detached while a worker has its actions, as at the logout of a user.
@Suite("The detachment of a store with claimed actions", .timeLimit(.minutes(15)))
struct DetachedStoreTests {
  @Test(arguments: Backend.available)
  func `an action claimed in advance does not begin after the detachment of its store`(
    _ backend: Backend
  ) async throws {
    let (kept, detached) = (try ActionStack(backend), try ActionStack(backend))
    let container = try kept.makeStranger()
    try detached.attachStore(to: container)
    let worker = try kept.worker(on: container, ManualClock()) { options in
      (options.concurrency, options.maximumClaimedAhead) = (1, 4)
    }
    // The worker claims in advance after it has measured a short action.
    try kept.enqueue(Mark(board: kept.boardName))
    #expect(try await worker.runDueActions() == 1)
    for _ in 1...2 { try detached.enqueue(Hold(board: kept.boardName)) }
    let run = Task { try await worker.runDueActions() }
    try await kept.board.until("begin hold 1")
    try container.detach(persistentStore: container.persistentStoreCoordinator.persistentStores[1])
    kept.board.open("hold 1")
    #expect(try await run.value == 1)
    let begun = kept.board.marks.filter { $0 == "begin hold 1" }
    #expect(begun.count == 1)
  }

  /// Waits for a gate, and then asks for a context for a merge.
  private struct HoldAndMerge: PersistedAction {
    let board: String

    func run(in context: PersistedActionContext) async throws {
      let board = Board.named(board)
      board.mark("begin")
      try await board.pass("merge")
      do {
        _ = try context.newActionContext()
        board.mark("made")
      } catch ErrorCode.storeDetached {
        board.mark("refused")
      }
    }
  }

  @Test(arguments: Backend.available)
  func `an action of a detached store gets no context for a merge into the store in its place`(
    _ backend: Backend
  ) async throws {
    let (former, next) = (try ActionStack(backend), try ActionStack(backend))
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Actions", managedObjectModel: ActionStack.model, storeLocation: former.directory.url)
    let store = try connect.attachPersistentStore(for: former.configuration)
    let worker = try PersistedActionWorker(
      connect, actions: [HoldAndMerge.self], clock: ManualClock().workerClock)
    try former.enqueue(HoldAndMerge(board: former.boardName))
    let run = Task { try await worker.runDueActions() }
    try await former.board.until("begin")
    try await connect.detach(persistentStores: [store])
    var configuration = next.configuration
    configuration.location = next.container.persistentStoreCoordinator.persistentStores.first?.url
    try connect.attachPersistentStore(for: configuration)
    former.board.open("merge")
    _ = try await run.value
    #expect(former.board.marks == ["begin", "refused"])
  }
}
