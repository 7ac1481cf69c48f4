import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Workers of a container with a read-only store, whose actions no worker of the container can change.
@Suite("Workers beside read-only stores") struct ReadOnlyStoreTests {
  @Test(arguments: Backend.available)
  func `a worker leaves the due actions of a read-only store, and runs those of other stores`(
    _ backend: Backend
  ) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    let time = ManualClock()
    let due = time.date.addingTimeInterval(60)
    for stack in [archive, stack] {
      try stack.enqueue(Mark(board: stack.boardName, text: "waiting"))
      try stack.enqueue(Mark(board: stack.boardName, text: "scheduled"), at: due)
      try stack.saving {
        _ = try $0.enqueue(Mark(board: stack.boardName, text: "urgent"), at: due, priority: .high)
      }
    }
    try archive.attachStore(to: stack.container, isReadOnly: true)
    let worker = try stack.worker(time)
    #expect(try await worker.runDueActions() == 1)
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 2)
    #expect(try await worker.runDueActions() == 0)
    #expect(Set(stack.board.marks) == ["waiting", "scheduled", "urgent"])
    #expect(archive.board.marks.isEmpty)
    #expect(try await archive.actions.counts() == [.waiting: 1, .scheduled: 2])
  }

  @Test(arguments: Backend.available)
  func `a worker does not take over the actions of stopped workers in a read-only store`(
    _ backend: Backend
  ) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    let stopped = try archive.worker(ManualClock())
    let (held, attempt) = try await archive.hold(in: stopped)

    try archive.attachStore(to: stack.container, isReadOnly: true)
    let time = ManualClock()
    let worker = try stack.worker(time)
    #expect(try await worker.runDueActions() == 0)
    try stack.enqueue(Mark(board: stack.boardName, text: "own"))
    time.advance(by: PersistedActionOptions().leaseLength)
    #expect(try await worker.runDueActions() == 1)
    #expect(try await archive.state(of: held) == .running)
    archive.board.open("hold 1")
    _ = try await attempt.value
  }

  @Test(arguments: Backend.available)
  func `a worker keeps its schedules in the first store that can be written`(_ backend: Backend) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    let container = ActionStack.Container(
      name: "Both", managedObjectModel: ActionStack.model, storeLocation: stack.directory.url)
    try archive.attachStore(to: container, isReadOnly: true)
    try stack.attachStore(to: container)
    let time = ManualClock()
    let schedule = PersistedSchedule("hourly", .every(.seconds(3600)), Mark(board: stack.boardName, text: "run"))
    let worker = try stack.worker(on: container, time, schedules: [schedule])
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.actions.counts() == [.scheduled: 1, .succeeded: 1])
    #expect(try await archive.actions.counts() == [:])
  }

  @Test(arguments: Backend.available)
  func `a key and a schedule in a read-only store keep no equal action of another store from running`(
    _ backend: Backend
  ) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    let time = ManualClock()
    let schedule = PersistedSchedule("often", .every(.seconds(20)), Mark(board: stack.boardName, text: "schedule"))
    try await archive.worker(time, schedules: [schedule]).runDueActions()
    let archived = try archive.enqueue(Mark(board: archive.boardName), key: "album 7")
    try archive.attachStore(to: stack.container, isReadOnly: true)

    let mine = try stack.enqueue(Mark(board: stack.boardName, text: "key"), key: "album 7")
    #expect(mine != archived)
    let worker = try stack.worker(time, schedules: [schedule])
    #expect(try await worker.runDueActions() == 1)
    time.advance(by: .seconds(20))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["key", "schedule"])
    #expect(try await archive.state(of: archived) == .waiting)
  }

  @Test(arguments: Backend.available)
  func `the handle of an action that a save has left out finds no equal action of a read-only store`(
    _ backend: Backend
  ) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    try archive.enqueue(Mark(board: archive.boardName), key: "album 7")
    let container = ActionStack.Container(
      name: "Both", managedObjectModel: ActionStack.model, storeLocation: stack.directory.url)
    try archive.attachStore(to: container, isReadOnly: true)
    try stack.attachStore(to: container)
    let context = container.newBackgroundContext()
    let handle = try context.performAndWait {
      try context.enqueue(Mark(board: stack.boardName, text: "later"), uniqueKey: "album 7")
    }
    let first = try stack.enqueue(Mark(board: stack.boardName, text: "first"), key: "album 7")
    try context.performAndWait { try context.save() }
    let actions = try PersistedActions(container)
    #expect(try await actions.action(handle)?.handle == first)
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    let end = try #require(try await actions.action(handle))
    #expect(end.handle == first && end.state == .succeeded)
    #expect(stack.board.marks == ["first"])
  }
}
