import CoherenceCore
import CoherencePersistedActions
import Foundation
import TestSupport
import Testing

/// Commits and checkpoints whose outcome the store does not know.
@Suite(.timeLimit(.minutes(15))) struct UnknownOutcomeTests {
  @Test(arguments: Backend.available)
  func `an action whose commit has an unknown outcome and was not applied runs again`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend, losses: NoteLosses(.lossBeforeSave))
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(WriteNote(text: "note"))
    #expect(try await worker.runDueActions() == 1)
    #expect(try stack.notes() == [])
    #expect(try await stack.state(of: handle) == .scheduled)
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    #expect(try stack.notes() == ["note"])
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `an action whose commit has an unknown outcome and was applied is finished, and does not run again`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend, losses: NoteLosses(.lossAfterSave))
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(WriteNote(text: "note"))
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .succeeded)
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 0)
    #expect(try stack.notes() == ["note"])
  }

  @Test(arguments: Backend.available, [FailingStore.Failure.lossBeforeSave, .lossAfterSave])
  func `an action whose checkpoint has an unknown outcome continues from the checkpoint that the store has`(
    _ backend: Backend, loss: FailingStore.Failure
  ) async throws {
    let stack = try ActionStack(backend, losses: NoteLosses(loss))
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(Walk(board: stack.boardName, steps: 2, stumblesBefore: 0))
    #expect(try await worker.runDueActions() == 1)
    #expect(try stack.notes() == (loss == .lossAfterSave ? ["step 1"] : []))
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    #expect(try stack.notes() == ["step 1", "step 2"])
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `a save of an action's own context is not repeated after a checkpoint of unknown outcome`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend, losses: NoteLosses(.lossBeforeSave, .lossAfterSave))
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(WriteOwnNote())
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .parked)
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 0)
    #expect(try stack.notes() == ["own note"])
  }
}
