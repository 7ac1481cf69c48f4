import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CoherencePersistedActions

/// An end that the store refuses, in one save with the ends of other actions.
@Suite(.timeLimit(.minutes(15))) struct RefusedEndTests {
  /// Waits for the gate of its number, and has the number as its result.
  private struct Deliver: PersistedAction {
    let board: String
    let number: Int

    func run(in context: PersistedActionContext) async throws {
      let board = Board.named(board)
      board.mark("begin \(number)")
      try await board.pass("\(number)")
      try context.setResult(number)
    }
  }

  /// Blocks the first save of an action, and refuses each save of a result.
  private final class ResultRefusal: SaveParticipant {
    struct Refusal: Error {}

    private let refused: AttributeValue
    private let slot: Int
    private let hasBlocked = Atomic<Bool>(false)
    private let gate = DispatchSemaphore(value: 0)
    private let (stream, continuation) = AsyncStream<Void>.makeStream()

    /// Delivers an element when the first save is blocked.
    var blocked: AsyncStream<Void> { stream }

    init(of result: Int, _ model: ManagedObjectModel) throws {
      refused = .data(Data("\(result)".utf8))
      slot = try #require(try model.entity(named: PersistedActionRecord.entityName).attribute(named: "result")).slot
    }

    func release() { gate.signal() }

    func observes(_ entity: EntityDescription) -> Bool { entity.name == PersistedActionRecord.entityName }

    func participate(in save: inout SaveParticipation) throws {
      if !hasBlocked.exchange(true, ordering: .acquiringAndReleasing) {
        continuation.yield()
        gate.wait()
      }
      for change in save.changes {
        if let row = change.row, row[slot] == refused { throw Refusal() }
      }
    }
  }

  @Test(arguments: Backend.available)
  func `an action whose result the store refuses is parked, and the ends in the same save are saved`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let handles = try [12, 13, 14].map { try stack.enqueue(Deliver(board: stack.boardName, number: $0)) }
    let worker = try PersistedActionWorker(
      stack.container, actions: [Deliver.self], clock: ManualClock().workerClock)
    let run = Task { try await worker.runDueActions() }
    for number in 12...14 { try await stack.board.until("begin \(number)") }
    let refusal = try ResultRefusal(of: 13, ActionStack.model)
    stack.container.persistentStoreCoordinator.addSaveParticipant(refusal)
    stack.board.open("12")
    for await _ in refusal.blocked { break }
    // These ends wait for the first save, and are saved together.
    for number in 13...14 { stack.board.open("\(number)") }
    while await worker.engine.ended.count < 2 { await Task.yield() }
    refusal.release()
    #expect(try await run.value == 3)
    for (handle, state) in zip(handles, [PersistedActionState.succeeded, .parked, .succeeded]) {
      #expect(try await stack.state(of: handle) == state)
    }
    let parked = try #require(try await stack.actions.action(handles[1]))
    #expect(parked.failedAttempts == 1 && !parked.hasResult)
    let text = try #require(parked.failures.first).text
    #expect(text.hasPrefix("The end of the action could not be saved: "))
    #expect(try await stack.actions.result(of: handles[2], as: Int.self) == 14)
    withExtendedLifetime(refusal) {}
  }
}
