import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherencePersistedActions

/// Actions enqueued by contexts with an undo history.
@Suite(.timeLimit(.minutes(15))) struct UndoneActionTests {
  @Test(arguments: Backend.available)
  func `an undo after the save leaves the action, and a redo does not run it again`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let context = stack.container.newBackgroundContext()
    let history = UndoHistory()
    let handle = try context.performAndWait {
      context.undoHistory = history
      try context.insertNote("data")
      let handle = try context.enqueue(Mark(board: stack.boardName))
      try context.save()
      return handle
    }
    let worker = try stack.worker(ManualClock())
    #expect(try await worker.runDueActions() == 1)

    try context.performAndWait {
      try history.undo()
      try context.save()
    }
    #expect(try stack.notes() == [])
    #expect(try await stack.state(of: handle) == .succeeded)
    try context.performAndWait {
      try history.redo()
      try context.save()
    }
    #expect(try stack.notes() == ["data"])
    #expect(try await worker.runDueActions() == 0)
    #expect(stack.board.marks == ["mark"])
  }

  @Test(arguments: Backend.available)
  func `an undo before the save takes the action back, and the save of its redo wakes the workers`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let context = stack.container.newBackgroundContext()
    let history = UndoHistory()
    try context.performAndWait {
      context.undoHistory = history
      try context.insertNote("data")
      try context.enqueue(Mark(board: stack.boardName))
    }
    try context.performAndWait {
      try history.undo()
      try history.withoutRecording { try context.insertNote("other") }
      try context.save()
    }
    #expect(try stack.notes() == ["other"])
    #expect(try await stack.actions.counts() == [:])

    var signals = stack.container.persistentStoreCoordinator.signals(ActionChannel.due).makeAsyncIterator()
    // The first element comes without a signal.
    _ = await signals.next()
    try context.performAndWait {
      try history.redo()
      try context.save()
    }
    _ = await signals.next()
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    #expect(try stack.notes() == ["data", "other"])
  }
}
