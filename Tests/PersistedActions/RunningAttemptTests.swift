import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The state that an attempt writes: checkpoints, progress, results, commits, and failures after a request to cancel.
@Suite(.timeLimit(.minutes(15))) struct RunningAttemptTests {
  private struct Step: PersistedAction {
    let board: String

    func run(in context: PersistedActionContext) async throws {
      let board = Board.named(board)
      try board.mark("\(context.lastCheckpoint(as: Int.self) ?? 0)")
      try await context.checkpoint(3)
      try board.mark("\(context.lastCheckpoint(as: Int.self) ?? 0)")
      try await context.checkpoint(4) { try $0.insertNote("four") }
      try board.mark("\(context.lastCheckpoint(as: Int.self) ?? 0)")
    }
  }

  @Test(arguments: Backend.available)
  func `an attempt reads the checkpoints that it has written itself`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Step(board: stack.boardName))
    let worker = try PersistedActionWorker(stack.container, actions: [Step.self], clock: ManualClock().workerClock)
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["0", "3", "4"])
    #expect(try stack.notes() == ["four"])
    #expect(try await stack.actions.action(handle)?.hasCheckpoint == true)
  }

  private struct CommitTwice: PersistedAction {
    let board: String

    func run(in context: PersistedActionContext) async throws {
      context.setProgress(2, of: 4)
      try context.setResult(["number": 7])
      try await context.commit { try $0.insertNote("once") }
      do {
        try await context.commit { try $0.insertNote("twice") }
      } catch {
        Board.named(board).mark(ErrorCode.illegalState ~= error ? "refused" : "other")
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a commit saves the result and the progress, ends the action with one event, and is refused a second time`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let worker = try PersistedActionWorker(
      stack.container, actions: [CommitTwice.self], clock: ManualClock().workerClock)
    let stream = worker.events
    let handle = try stack.enqueue(CommitTwice(board: stack.boardName))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["refused"])
    #expect(try stack.notes() == ["once"])
    #expect(try await stack.actions.result(of: handle, as: [String: Int].self) == ["number": 7])
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .succeeded && info.progress?.completedUnitCount == 2 && info.progress?.totalUnitCount == 4)
    #expect(
      await stream.first(3) == [
        .started(handle, attempt: 1), .progressed(handle, completed: 2, total: 4),
        .finished(handle, .succeeded, error: nil),
      ])
  }

  private struct MergeSomething: PersistedAction {
    func run(in context: PersistedActionContext) async throws { _ = try context.newActionContext() }
  }

  @Test func `an action that merges in a container without a Connect is parked at once, and the failure says why`()
    async throws
  {
    let stack = try ActionStack()
    let handle = try stack.enqueue(MergeSomething())
    let worker = try PersistedActionWorker(
      stack.container, actions: [MergeSomething.self], clock: ManualClock().workerClock)
    #expect(try await worker.runDueActions() == 1)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .parked && info.failures.first?.text.contains("not a Connect") == true)
  }

  private struct Advance: PersistedAction {
    let board: String

    func run(in context: PersistedActionContext) async throws {
      context.setProgress(1, of: 4)
      Board.named(board).mark("begun")
      try await Board.named(board).pass("go")
    }
  }

  /// The dates of the only worker's record.
  private func workerDates(in stack: ActionStack) throws -> [Date] {
    let context = stack.container.newBackgroundContext()
    return try context.performAndWait {
      let records = try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceActionWorker"))
      let worker = try #require(records.first)
      #expect(records.count == 1)
      return [try worker.value(for: "startedDate", as: Date.self), try worker.value(for: "beatDate", as: Date.self)]
    }
  }

  /// Begins an attempt of an action, and waits until the action has set its progress.
  private func advance(
    in stack: ActionStack, _ time: ManualClock
  ) async throws -> (worker: PersistedActionWorker, handle: PersistedActionHandle, attempt: Task<Int, any Error>) {
    let worker = try PersistedActionWorker(stack.container, actions: [Advance.self], clock: time.workerClock)
    let handle = try stack.enqueue(Advance(board: stack.boardName))
    let attempt = Task { try await worker.runDueActions() }
    try await stack.board.until("begun")
    return (worker, handle, attempt)
  }

  @Test(arguments: Backend.available)
  func `a heartbeat saves the progress of a running action, and the date of the heartbeat`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let (worker, handle, attempt) = try await advance(in: stack, time)
    for beats in 1...2 {
      await time.untilSleeping()
      #expect(try await (stack.actions.action(handle)?.progress == nil) == (beats == 1))
      time.advance(by: .seconds(10))
      while worker.statistics.beats < beats { await Task.yield() }
    }
    await time.untilSleeping()
    let progress = try await stack.actions.action(handle)?.progress
    #expect(progress?.completedUnitCount == 1 && progress?.totalUnitCount == 4)
    #expect(try workerDates(in: stack) == [ManualClock.firstDate + 10, ManualClock.firstDate + 20])
    stack.board.open("go")
    #expect(try await attempt.value == 1)
    #expect(try stack.workerCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `progress that a heartbeat could not save is saved by the next heartbeat`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let (worker, handle, attempt) = try await advance(in: stack, time)
    let coordinator = stack.container.persistentStoreCoordinator
    let outage = Outage(of: "CoherencePersistedAction", in: coordinator.persistentStores[0].identifier)
    coordinator.addSaveParticipant(outage)
    for isFull in [true, false] {
      await time.untilSleeping()
      if !isFull { outage.end() }
      time.advance(by: .seconds(10))
      await time.untilSleeping()
      #expect(try await (stack.actions.action(handle)?.progress == nil) == isFull)
    }
    stack.board.open("go")
    #expect(try await attempt.value == 1)
    #expect(worker.statistics.beats == 2)
    withExtendedLifetime(outage) {}
  }

  @Test(arguments: Backend.available)
  func `an attempt that fails after a request to cancel is a failure of the cancelled action`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let handle = try stack.enqueue(Leave(board: stack.boardName, way: .later, waits: true))
    let attempt = Task { try await worker.runDueActions() }
    try await stack.board.until("attempt 1")
    #expect(try await stack.actions.cancel(handle))
    stack.board.open("leave")
    #expect(try await attempt.value == 1)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .canceled && info.failedAttempts == 1)
    #expect(info.failures.map(\.attempt) == [1])
  }

  @Test(arguments: Backend.available)
  func `a cancelled action whose worker stops during the attempt ends as cancelled, and runs no more`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let stopped = try stack.worker(ManualClock())
    let (handle, attempt) = try await stack.hold(in: stopped)
    #expect(try await stack.actions.cancel(handle))
    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    try await other.runDueActions()
    time.advance(by: PersistedActionOptions().leaseLength)
    #expect(try await other.runDueActions() == 0)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .canceled && info.failures.map(\.attempt) == [1])
    stack.board.open("hold 1")
    _ = try await attempt.value
    #expect(try await stack.state(of: handle) == .canceled)
  }

  @Test(arguments: Backend.available)
  func `an action cancelled during its run runs again on request`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    try await stack.board.until("begin hold 1")
    #expect(try await stack.actions.cancel(handle))
    #expect(try await stack.actions.untilFinished(handle).state == .canceled)
    stack.board.open("hold 1")
    #expect(try await stack.actions.retry(handle))
    let info = try await stack.actions.untilFinished(handle)
    #expect(info.state == .succeeded && !info.isCancelRequested)
    await worker.stop()
  }

  @Test func `the statistics of a worker count its reads, claims, attempts and saves`() async throws {
    let stack = try ActionStack()
    try stack.enqueue(Mark(board: stack.boardName))
    let worker = try stack.worker(ManualClock())
    #expect(worker.statistics.looks == 0 && worker.statistics.claims == 0)
    // The second round finds no further action.
    #expect(try await worker.runDueActions() == 1)
    let statistics = worker.statistics
    #expect(statistics.looks == 2 && statistics.claims == 2 && statistics.claimedActions == 1)
    #expect(statistics.attempts == 1 && statistics.saves == 1 && statistics.beats == 0)
  }

  @Test(arguments: Backend.available)
  func `each action is on one page, also among actions enqueued at the same moment`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handles = try (0..<5).map { _ in try stack.enqueue(Mark(board: stack.boardName)) }
    try stack.saving { context in
      for record in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherencePersistedAction")) {
        try record.setValue(ManualClock.firstDate, for: "enqueuedDate")
      }
    }
    var listed: [PersistedActionInfo] = []
    while true {
      let page = try await stack.actions.actions(limit: 2, after: listed.last)
      listed += page
      if page.count < 2 { break }
    }
    #expect(listed.map(\.id.uuidString) == handles.map(\.id.uuidString).sorted())
  }
}
