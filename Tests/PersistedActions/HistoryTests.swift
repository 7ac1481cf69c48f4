import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CoherencePersistedActions

@Suite(.timeLimit(.minutes(15))) struct HistoryTests {
  @Test(arguments: Backend.available)
  func `pruning deletes finished actions whose retention has expired`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let old = try stack.enqueue(Mark(board: stack.boardName))
    let parked = try stack.enqueue(Fail(board: stack.boardName, times: 1), retry: .never)
    try await worker.runDueActions()
    time.advance(by: .seconds(3600))
    let recent = try stack.enqueue(Mark(board: stack.boardName))
    try await worker.runDueActions()

    let retention = PersistedActionRetention(succeeded: .seconds(1800))
    #expect(try await stack.actions.prune(retention, at: time.date) == 1)
    #expect(try await stack.actions.action(old) == nil)
    #expect(try await stack.state(of: recent) == .succeeded)
    #expect(try await stack.state(of: parked) == .parked)
  }

  @Test(arguments: Backend.available)
  func `pruning deletes the expired actions of all queues and no others`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let queues = ["audit", "default", "mail"]
    let worker = try stack.worker(time) { $0.queues = queues.map { PersistedActionQueue($0) } }
    let old = try queues.map { try stack.enqueue(Mark(board: stack.boardName), queue: $0) }
    try await worker.runDueActions()
    time.advance(by: .seconds(60))
    // Due long ago, and finished only now.
    let recent = try queues.map {
      try stack.enqueue(Mark(board: stack.boardName), at: time.date.addingTimeInterval(-3600), queue: $0)
    }
    try await worker.runDueActions()

    #expect(try await stack.actions.prune(PersistedActionRetention(succeeded: .seconds(30)), at: time.date) == 3)
    for handle in old { #expect(try await stack.actions.action(handle) == nil) }
    for handle in recent { #expect(try await stack.state(of: handle) == .succeeded) }
  }

  @Test(arguments: Backend.available)
  func `pruning leaves the expired actions of a read-only store, and deletes those of other stores`(
    _ backend: Backend
  ) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    let time = ManualClock()
    let archived = try archive.enqueue(Mark(board: archive.boardName))
    let old = try stack.enqueue(Mark(board: stack.boardName))
    for stack in [archive, stack] { try await stack.worker(time).runDueActions() }
    try archive.attachStore(to: stack.container, isReadOnly: true)

    let retention = PersistedActionRetention(succeeded: .seconds(1800))
    let date = time.date.addingTimeInterval(3600)
    #expect(try await stack.actions.prune(retention, at: date) == 1)
    #expect(try await stack.actions.prune(retention, at: date) == 0)
    #expect(try await stack.actions.action(old) == nil)
    #expect(try await archive.state(of: archived) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `the numbers of actions in some states need no read of the other actions`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    for _ in 0..<3 { _ = try stack.enqueue(Mark(board: stack.boardName)) }
    try await stack.worker(ManualClock()).runDueActions()
    _ = try stack.enqueue(Mark(board: stack.boardName))
    // Another container, which no worker uses.
    let stranger = try stack.makeStranger()
    let context = ManagedObjectContext(coordinator: stranger.persistentStoreCoordinator)
    let observer = CountedReads()
    stranger.persistentStoreCoordinator.addFetchObserver(observer)
    let counts = try context.performAndWait {
      try PersistedActionRecord.counts(of: [.waiting, .parked], in: context)
    }
    #expect(counts == [.waiting: 1])
    #expect(observer.count == 2)
    withExtendedLifetime(stranger) {}
    #expect(try await stack.actions.counts() == [.waiting: 1, .succeeded: 3])
  }

  @Test(arguments: Backend.available)
  func `a worker prunes ten minutes after its last pruning, and not before`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time) { $0.retention = PersistedActionRetention(succeeded: .seconds(10)) }
    let old = try stack.enqueue(Mark(board: stack.boardName))
    for (pause, isKept) in [(0, true), (599, true), (1, false)] {
      time.advance(by: .seconds(pause))
      try await worker.runDueActions()
      #expect(try await (stack.actions.action(old) != nil) == isKept)
    }
    // Another worker prunes at its first read of the store.
    let next = try stack.enqueue(Mark(board: stack.boardName))
    try await worker.runDueActions()
    time.advance(by: .seconds(20))
    try await worker.runDueActions()
    #expect(try await stack.actions.action(next)?.state == .succeeded)
    try await stack.worker(time) { $0.retention = PersistedActionRetention(succeeded: .seconds(10)) }.runDueActions()
    #expect(try await stack.actions.action(next) == nil)
  }

  @Test(arguments: Backend.available)
  func `a worker prunes while it has work`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time) { $0.retention = PersistedActionRetention(succeeded: .seconds(60)) }
    let old = try stack.enqueue(Mark(board: stack.boardName))
    try await worker.runDueActions()
    time.advance(by: .seconds(3600))
    try await worker.runDueActions()
    #expect(try await stack.actions.action(old) == nil)
  }

  @Test(arguments: Backend.available)
  func `with a retention of zero, the success of an action deletes its record`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock()) { $0.retention = PersistedActionRetention(succeeded: .zero) }
    let marked = try stack.enqueue(Mark(board: stack.boardName))
    let committed = try stack.enqueue(WriteNote(text: "note"))
    try stack.enqueue(Fail(board: stack.boardName, times: 1), retry: .never)
    try await worker.runDueActions()
    #expect(try await stack.actions.counts() == [.parked: 1])
    #expect(try stack.notes() == ["note"])
    for handle in [marked, committed] {
      await #expect(throws: CoherenceError.self) { try await stack.actions.untilFinished(handle) }
    }
  }

  @Test(arguments: Backend.available)
  func `pages list each action once, by the date of its enqueueing`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handles = try stack.saving { context in
      try (0..<7).map { try context.enqueue(Mark(board: stack.boardName, text: "\($0)")) }
    }
    try stack.enqueue(Answer(number: 1))
    var listed: [PersistedActionInfo] = []
    while true {
      let page = try await stack.actions.actions(named: "Mark", limit: 3, after: listed.last)
      listed += page
      if page.count < 3 { break }
    }
    #expect(listed.count == 7)
    #expect(Set(listed.map(\.handle)) == Set(handles))
    #expect(listed.map(\.enqueuedDate) == listed.map(\.enqueuedDate).sorted())
    #expect(try await stack.actions.actions(in: [.running, .parked]).isEmpty)
  }

  @Test(arguments: Backend.available)
  func `the record of an action can be deleted unless the action is running`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let (running, attempt) = try await stack.hold(in: worker)
    let waiting = try stack.enqueue(Mark(board: stack.boardName))
    #expect(try await !stack.actions.delete(running))
    #expect(try await stack.actions.delete(waiting))
    #expect(try await !stack.actions.delete(waiting))
    stack.board.open("hold 1")
    #expect(try await attempt.value == 1)
    #expect(try await stack.actions.delete(running))
    #expect(try await stack.actions.counts() == [:])
  }

  @Test(arguments: Backend.available)
  func `the handle of a deleted action deletes no other action with its unique key`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let first = try stack.enqueue(Mark(board: stack.boardName, text: "first"), key: "key")
    try await worker.runDueActions()
    #expect(try await stack.actions.delete(first))
    let second = try stack.enqueue(Mark(board: stack.boardName, text: "second"), key: "key")
    #expect(second != first)

    #expect(try await !stack.actions.delete(first))
    #expect(try await stack.state(of: second) == .waiting)
    try await worker.runDueActions()
    #expect(try await !stack.actions.delete(first))
    #expect(try await stack.state(of: second) == .succeeded)
    // The handle still finds the latest equal action, whose own handle deletes it.
    let found = try #require(try await stack.actions.action(first)?.handle)
    #expect(found == second)
    #expect(try await stack.actions.delete(found))
  }

  @Test(arguments: Backend.available)
  func `the deletion of a waiting action ends the waits for its end`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let handle = try stack.enqueue(Mark(board: stack.boardName), at: time.date.addingTimeInterval(3600))
    let actions = stack.actions
    let wait = Task { try await actions.untilFinished(handle) }
    // The end of another action is a signal too, after which the wait continues.
    let other = try stack.enqueue(Mark(board: stack.boardName))
    try await stack.worker(time).runDueActions()
    _ = try await actions.untilFinished(other)
    #expect(try await actions.delete(handle))
    let error = try await #require(throws: CoherenceError.self) { try await wait.value }
    #expect(error.code == .objectNotFound)
  }

  @Test(arguments: Backend.available)
  func `the end of an action costs one common read of all waits, and each wait ends with its own action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let stranger = try PersistedActions(stack.makeStranger())
    let operations = OperationLog()
    stack.container.persistentStoreCoordinator.observer = operations
    let date = ManualClock.firstDate.addingTimeInterval(3600)
    let handles = try stack.saving { context in
      try (0..<30).map { try context.enqueue(Mark(board: stack.boardName, text: "\($0)"), at: date) }
    }
    let actions = stack.actions
    let waits = handles.map { handle in Task { try await actions.untilFinished(handle) } }
    for (handle, wait) in zip(handles, waits) {
      try await stranger.cancel(handle)
      let finished = try await wait.value
      #expect(finished.handle == handle && finished.state == .canceled)
    }
    // A read by each wait at each end would be more than 450 reads. A common read has two statements, and a store may
    // report an end both as a signal and as a commit of another process.
    #expect(operations.count(of: StackOperation(.fetch, "CoherencePersistedAction")) < 250)
  }

  @Test func `a cancelled wait for the end of an action ends at once`() async throws {
    let stack = try ActionStack()
    let date = ManualClock.firstDate.addingTimeInterval(3600)
    let handle = try stack.enqueue(Mark(board: stack.boardName), at: date)
    let actions = stack.actions
    let (cancelled, other) = (
      Task { try await actions.untilFinished(handle) }, Task { try await actions.untilFinished(handle) }
    )
    cancelled.cancel()
    await #expect(throws: (any Error).self) { try await cancelled.value }
    try await actions.cancel(handle)
    #expect(try await other.value.state == .canceled)
  }

  @Test func `a worker sends events for the start, the progress and the end of an attempt, in this order`() async throws
  {
    let stack = try ActionStack()
    let worker = try stack.worker(ManualClock())
    let stream = worker.events
    let handle = try stack.enqueue(Answer(number: 1))
    try await worker.runDueActions()
    #expect(
      await stream.first(3) == [
        .started(handle, attempt: 1), .progressed(handle, completed: 1, total: 2),
        .finished(handle, .succeeded, error: nil),
      ])
  }

  @Test func `a worker claims many short actions in one transaction, in advance of their attempts`() async throws {
    let stack = try ActionStack()
    let handles = try stack.saving { context in
      try (0..<300).map { try context.enqueue(Mark(board: stack.boardName, text: "\($0)")) }
    }
    let worker = try stack.worker(ManualClock()) {
      $0.concurrency = 2
      $0.maximumClaimedAhead = 128
    }
    #expect(try await worker.runDueActions() == handles.count)
    let statistics = worker.statistics
    #expect(statistics.claimedActions == 300)
    // The first claim takes two actions, one for each slot. After measured attempts, a claim takes up to 128 more.
    #expect(statistics.claims <= 6)
  }
}

/// Counts the fetches and counts of a coordinator's contexts.
private final class CountedReads: FetchObserver {
  private let number = Mutex(0)

  var count: Int { number.withLock { $0 } }

  func willFetch(_ entity: EntityDescription) { number.withLock { $0 += 1 } }
}
