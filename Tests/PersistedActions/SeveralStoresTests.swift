import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CoherencePersistedActions

/// A worker whose actions are in two stores.
@Suite("Actions in several stores", .timeLimit(.minutes(15)))
struct SeveralStoresTests {
  @Test(arguments: Backend.available)
  func `the end of an action is saved and reported although another store refuses the end of another action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let coordinator = stack.container.persistentStoreCoordinator
    try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let stores = coordinator.persistentStores
    let handles = try zip(["a", "b", "c"], [stores[0], stores[0], stores[1]]).map { text, store in
      try stack.saving { try $0.enqueue(Hold(board: stack.boardName, text: text), in: store) }
    }
    let worker = try stack.worker(ManualClock())
    let events = worker.events
    let run = Task { try await worker.runDueActions() }
    for text in ["a", "b", "c"] { try await stack.board.until("begin \(text) 1") }

    // The end of the action "b" waits for the save of the first end, and the end of "c" is saved in its own store.
    let gate = SaveGate(refusing: stores[1].identifier)
    coordinator.addSaveParticipant(gate)
    stack.board.open("a 1")
    for await _ in gate.blocked { break }
    for text in ["b", "c"] { stack.board.open("\(text) 1") }
    while await worker.engine.ended.isEmpty { await Task.yield() }
    gate.release()
    #expect(try await run.value == 3)

    #expect(try await stack.state(of: handles[0]) == .succeeded)
    #expect(try await stack.state(of: handles[1]) == .succeeded)
    #expect(try await stack.state(of: handles[2]) == .parked)
    var finished: [PersistedActionHandle: PersistedActionState] = [:]
    var endCount = 0
    for await event in events {
      if case .started = event { continue }
      if case .finished(let handle, let state, error: _) = event { finished[handle] = state }
      endCount += 1
      if endCount == 3 { break }
    }
    #expect(finished == [handles[0]: .succeeded, handles[1]: .succeeded, handles[2]: .parked])
    withExtendedLifetime(gate) {}
  }

  @Test(arguments: Backend.available)
  func `the end of an action is saved while another store fails to save the end of another action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let coordinator = stack.container.persistentStoreCoordinator
    try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let stores = coordinator.persistentStores
    let handles = try zip(["a", "b"], stores).map { text, store in
      try stack.saving { try $0.enqueue(Hold(board: stack.boardName, text: text), in: store) }
    }
    let time = ManualClock()
    let worker = try stack.worker(time)
    let run = Task { try await worker.runDueActions() }
    for text in ["a", "b"] { try await stack.board.until("begin \(text) 1") }

    let outage = Outage(of: PersistedActionRecord.entityName, in: stores[0].identifier)
    coordinator.addSaveParticipant(outage)
    stack.board.open("a 1")
    // The worker waits before it saves the end again.
    await time.untilSleeping(for: .milliseconds(100))
    stack.board.open("b 1")
    #expect(try await stack.actions.untilFinished(handles[1]).state == .succeeded)
    #expect(try await stack.state(of: handles[0]) == .running)
    outage.end()
    time.advance(by: .milliseconds(100))
    #expect(try await run.value == 2)
    #expect(try await stack.state(of: handles[0]) == .succeeded)
    withExtendedLifetime(outage) {}
  }

  @Test(arguments: Backend.available, [0, 1])
  func `a store that refuses the heartbeats of a worker costs the worker no action in another store`(
    backend: Backend, index: Int
  ) async throws {
    let (refusing, stack) = (try ActionStack(backend), try ActionStack(backend))
    let container = try (index == 0 ? refusing : stack).makeStranger()
    try (index == 0 ? stack : refusing).attachStore(to: container)
    let coordinator = container.persistentStoreCoordinator
    let time = ManualClock()
    let living = try stack.worker(on: container, time)
    let (handle, attempt) = try await stack.hold(in: living)

    let outage = Outage(of: ActionWorkerRecord.entityName, in: coordinator.persistentStores[index].identifier)
    coordinator.addSaveParticipant(outage)
    // A second attempt would not wait.
    stack.board.open("hold 2")
    let othersTime = ManualClock()
    let other = try stack.worker(othersTime)
    for _ in 1...3 {
      await time.untilSleeping()
      time.advance(by: PersistedActionOptions().leaseLength / 3)
      await time.untilSleeping()
      othersTime.advance(by: PersistedActionOptions().leaseLength)
      #expect(try await other.runDueActions() == 0)
    }
    stack.board.open("hold 1")
    #expect(try await attempt.value == 1)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .succeeded && info.failedAttempts == 0)
    withExtendedLifetime(outage) {}
  }

  /// A worker that runs an action in each of two stores, the second of which its container has then detached.
  private struct DetachedWorker {
    /// The stack of the store that the worker keeps.
    let kept: ActionStack
    let detached: ActionStack
    /// The action in the store that the worker keeps, and the action in the detached store.
    let handles: [PersistedActionHandle]
    let time = ManualClock()
    let attempt: Task<Int, any Error>
    let other: PersistedActionWorker
    let othersTime = ManualClock()

    /// - Parameter beats: The heartbeat number that the worker leaves in the detached store.
    init(_ backend: Backend, leaving beats: Int64) async throws {
      (kept, detached) = (try ActionStack(backend), try ActionStack(backend))
      let containers = [try kept.makeStranger(), try kept.makeStranger()]
      for container in containers { try detached.attachStore(to: container) }
      handles = [
        try kept.enqueue(Hold(board: kept.boardName, text: "kept")),
        try detached.enqueue(Hold(board: kept.boardName, text: "detached")),
      ]
      let worker = try kept.worker(on: containers[0], time)
      attempt = Task { try await worker.runDueActions() }
      for text in ["kept", "detached"] { try await kept.board.until("begin \(text) 1") }
      // The first heartbeat inserts the records of the worker.
      await time.untilSleeping()
      time.advance(by: Self.lease / 3)
      await time.untilSleeping()
      try containers[0].detach(persistentStore: containers[0].persistentStoreCoordinator.persistentStores[1])
      try detached.saving { context in
        for record in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceActionWorker")) {
          try record.setValue(beats, for: "beats")
        }
      }
      other = try kept.worker(on: containers[1], othersTime)
    }

    private static let lease = PersistedActionOptions().leaseLength

    /// Has the worker send a heartbeat, and the other worker run its due actions a lease later.
    func runOthersActions() async throws -> Int {
      time.advance(by: Self.lease / 3)
      // The end of the action in the detached store may sleep too, before it is saved again.
      await time.untilSleeping(for: Self.lease / 3)
      othersTime.advance(by: Self.lease)
      return try await other.runDueActions()
    }
  }

  @Test(arguments: Backend.available, [Int64.min, .max])
  func `another worker takes over the actions of the store that a worker has detached, and no others`(
    backend: Backend, beats: Int64
  ) async throws {
    let worker = try await DetachedWorker(backend, leaving: beats)
    let board = worker.kept.board
    // A second attempt ends at once.
    for text in ["kept", "detached"] { board.open("\(text) 2") }
    let counts = [
      try await worker.runOthersActions(), try await worker.runOthersActions(), try await worker.runOthersActions(),
    ]
    #expect(counts == [0, 1, 0])
    #expect(!board.marks.contains("begin kept 2") && board.marks.contains("end detached 2"))
    board.open("kept 1")
    #expect(try await worker.attempt.value == 2)
    #expect(try await worker.kept.actions.action(worker.handles[0])?.failedAttempts == 0)
    #expect(try await worker.kept.state(of: worker.handles[0]) == .succeeded)
    #expect(try await worker.detached.state(of: worker.handles[1]) == .succeeded)
  }

  /// The heartbeat numbers of the workers in a store.
  private func beats(in stack: ActionStack) throws -> [Int64] {
    let context = stack.container.newBackgroundContext()
    return try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceActionWorker")).map {
        try $0.value(for: "beats", as: Int64.self)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a worker runs and retains the actions of a store although an earlier store cannot be read`(
    _ backend: Backend
  ) async throws {
    let (unreadable, readable) = (try ActionStack(backend), try ActionStack(backend))
    let container = try unreadable.makeStranger()
    try readable.attachStore(to: container)
    let time = ManualClock()
    let worker = try readable.worker(on: container, time)
    try await worker.start()
    container.persistentStoreCoordinator.persistentStores[0].close()
    let date = ManualClock.firstDate.addingTimeInterval(5)
    let later = try readable.enqueue(Mark(board: readable.boardName, text: "later"), at: date)
    let handle = try readable.enqueue(Hold(board: readable.boardName, text: "a"))
    try await readable.board.until("begin a 1")

    func pass() async {
      time.advance(by: .seconds(1))
      await Task.yield()
    }
    let former = try beats(in: readable)
    while try beats(in: readable) == former { await pass() }
    readable.board.open("a 1")
    for handle in [handle, later] {
      while try await readable.state(of: handle) != .succeeded { await pass() }
    }
    await worker.stop()
  }

  /// A container with a closed store, followed by the store of a stack.
  private func containerBesideClosedStore(_ stack: ActionStack, _ backend: Backend) throws -> ActionStack.Container {
    let container = try ActionStack(backend).makeStranger()
    try stack.attachStore(to: container)
    container.persistentStoreCoordinator.persistentStores[0].close()
    return container
  }

  @Test(arguments: Backend.available, [false, true])
  func `a worker starts, and runs due actions at once, although an earlier store cannot be read`(
    backend: Backend, isStarted: Bool
  ) async throws {
    let stack = try ActionStack(backend)
    let container = try containerBesideClosedStore(stack, backend)
    let handle = try stack.enqueue(Mark(board: stack.boardName))
    let schedule = PersistedSchedule("hourly", .every(.seconds(3600)), Mark(board: stack.boardName))
    let worker = try stack.worker(on: container, ManualClock(), schedules: [schedule])
    if isStarted {
      try await worker.start()
      while try await stack.state(of: handle) != .succeeded { await Task.yield() }
      await worker.stop()
    } else {
      await #expect(throws: CoherenceError.self) { try await worker.runDueActions() }
    }
    #expect(try await stack.state(of: handle) == .succeeded)
    // The closed store may have the record of the schedule.
    #expect(try await stack.actions.schedules().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a worker takes over the actions of a stopped worker, and deletes its own record, beside an unreadable store`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let lease = PersistedActionOptions().leaseLength
    let handle = try stack.enqueue(Hold(board: stack.boardName, text: "a"))
    let time = ManualClock()
    let silent = try stack.worker(time)
    let attempt = Task { try await silent.runDueActions() }
    try await stack.board.until("begin a 1")
    await time.untilSleeping()
    time.advance(by: lease / 3)
    await time.untilSleeping()

    let othersTime = ManualClock()
    let other = try stack.worker(on: try containerBesideClosedStore(stack, backend), othersTime)
    stack.board.open("a 2")
    for _ in 1...3 {
      await #expect(throws: CoherenceError.self) { try await other.runDueActions() }
      othersTime.advance(by: lease)
    }
    #expect(stack.board.marks.contains("end a 2"))
    #expect(try await stack.state(of: handle) == .succeeded)
    stack.board.open("a 1")
    _ = try await attempt.value
    try await other.start()
    await other.stop()
    #expect(try stack.workerCount() == 0)
  }

  /// Blocks the first save of an action, and refuses the first save in one store.
  private final class SaveGate: SaveParticipant {
    struct Refusal: Error {}

    private struct State {
      var hasBlocked = false
      var hasRefused = false
    }

    private let refusedStore: StoreIdentifier
    private let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 0)
    private let (stream, continuation) = AsyncStream<Void>.makeStream()

    /// Delivers an element when the first save is blocked.
    var blocked: AsyncStream<Void> { stream }

    init(refusing store: StoreIdentifier) { refusedStore = store }

    func release() { gate.signal() }

    func observes(_ entity: EntityDescription) -> Bool { entity.name == PersistedActionRecord.entityName }

    func participate(in save: inout SaveParticipation) throws {
      let isRefused = save.store.identifier == refusedStore
      let (blocks, refuses) = state.withLock { state in
        defer {
          state.hasBlocked = true
          if isRefused { state.hasRefused = true }
        }
        return (!state.hasBlocked, isRefused && !state.hasRefused)
      }
      if blocks {
        continuation.yield()
        gate.wait()
      }
      if refuses { throw Refusal() }
    }
  }
}
