import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct WorkerTests {
  // MARK: Order

  @Test(arguments: Backend.available)
  func `waiting actions run by priority, and actions of one priority in the order of their enqueueing`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    try stack.saving { context in
      for priority in [ActionPriority.low, .normal, .veryHigh] {
        for number in 1...2 {
          try context.enqueue(Mark(board: stack.boardName, text: "\(priority) \(number)"), priority: priority)
        }
      }
    }
    try await stack.worker(ManualClock()) { $0.concurrency = 1 }.runDueActions()
    #expect(
      stack.board.marks == ["veryHigh 1", "veryHigh 2", "normal 1", "normal 2", "low 1", "low 2"])
  }

  @Test(arguments: Backend.available)
  func `actions scheduled for one date run by priority, and none runs before the date`(_ backend: Backend) async throws
  {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let date = time.date.addingTimeInterval(60)
    try stack.saving { context in
      for priority in [ActionPriority.veryLow, .normal, .veryHigh] {
        try context.enqueue(Mark(board: stack.boardName, text: "\(priority)"), at: date, priority: priority)
      }
    }
    let worker = try stack.worker(time) { $0.concurrency = 1 }
    time.advance(by: .seconds(59))
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(1))
    #expect(try await worker.runDueActions() == 3)
    #expect(stack.board.marks == ["veryHigh", "normal", "veryLow"])
  }

  @Test(arguments: Backend.available)
  func `the due actions of each queue start, whatever the dates of the other queues`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    for (queue, delay) in [("mail", 60.0), ("audit", 30), ("default", 90)] {
      let date = time.date.addingTimeInterval(delay)
      try stack.enqueue(Mark(board: stack.boardName, text: queue), at: date, queue: queue)
    }
    let worker = try stack.worker(time) { $0.queues = ["default", "mail", "audit"] }
    for queues in [["audit"], ["audit", "mail"], ["audit", "mail", "default"]] {
      time.advance(by: .seconds(30))
      try await worker.runDueActions()
      #expect(stack.board.marks == queues)
    }
  }

  @Test(arguments: Backend.available)
  func `an action of high priority that an earlier release has scheduled does not delay actions that are due before it`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    try stack.saving { context in
      try context.enqueue(
        Mark(board: stack.boardName, text: "former"), at: time.date.addingTimeInterval(900), priority: .veryHigh)
      try context.save()
      // The earlier release has shifted the rank of a scheduled action by its priority.
      for record in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherencePersistedAction")) {
        try record.setValue(time.date.addingTimeInterval(-300), for: "rank")
      }
    }
    try stack.enqueue(Mark(board: stack.boardName, text: "present"), at: time.date.addingTimeInterval(60))
    let worker = try stack.worker(time)
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    time.advance(by: .seconds(839))
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(1))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["present", "former"])
  }

  @Test(arguments: Backend.available)
  func `after a long wait, an action of low priority runs before newer actions of high priority`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    try stack.saving { context in
      try context.enqueue(Mark(board: stack.boardName, text: "high"), at: time.date, priority: .high)
      try context.enqueue(
        Mark(board: stack.boardName, text: "low"), at: time.date.addingTimeInterval(-3600), priority: .low)
    }
    try await stack.worker(time) { $0.concurrency = 1 }.runDueActions()
    #expect(stack.board.marks == ["low", "high"])
  }

  @Test(arguments: Backend.available)
  func `a queue at its limit leaves the other slots to other queues`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let mail = Board.named(stack.boardName + "mail")
    for text in ["a", "b", "c"] {
      try stack.enqueue(Hold(board: stack.boardName + "mail", text: text), queue: "mail")
      try stack.enqueue(Mark(board: stack.boardName, text: text))
    }
    let worker = try stack.worker(ManualClock()) {
      $0.queues = [PersistedActionQueue("mail", concurrency: 1), "default"]
    }
    try await worker.start()
    for text in ["a", "b", "c"] {
      // The default queue runs its actions while the mail queue is at its limit.
      try await stack.board.until(text)
      try await mail.until("begin \(text) 1")
      mail.open("\(text) 1")
    }
    try await mail.until("end c 1")
    await worker.stop()
    #expect(mail.mostPresent == 1)
  }

  @Test func `a worker runs actions of its own queues only`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Mark(board: stack.boardName), queue: "mail")
    #expect(try await stack.worker(ManualClock()).runDueActions() == 0)
    #expect(try await stack.state(of: handle) == .waiting)
  }

  // MARK: Cancelling

  @Test(arguments: Backend.available)
  func `a cancelled waiting action never runs, and frees its unique key`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Mark(board: stack.boardName), key: "key")
    #expect(try await stack.actions.cancel(handle))
    #expect(try await stack.worker(ManualClock()).runDueActions() == 0)
    #expect(try await stack.state(of: handle) == .canceled)
    #expect(try stack.enqueue(Mark(board: stack.boardName), key: "key") != handle)
  }

  @Test(arguments: Backend.available)
  func `another process can cancel a running action`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    try await stack.board.until("begin hold 1")

    let stranger = try PersistedActions(stack.makeStranger())
    #expect(try await stranger.cancel(handle))
    #expect(try await stranger.untilFinished(handle).state == .canceled)
    await worker.stop()
    #expect(stack.board.marks == ["begin hold 1"])
  }

  @Test func `the context of a running action tells that the action is cancelled`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Patience(board: stack.boardName))
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    try await stack.board.until("begin")
    #expect(try await stack.actions.cancel(handle))
    #expect(try await stack.actions.untilFinished(handle).state == .canceled)
    await worker.stop()
    #expect(stack.board.marks == ["begin", "end cancelled"])
  }

  @Test(arguments: Backend.available)
  func `an action whose cancellation was requested cannot commit`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(HoldAndCommit(board: stack.boardName))
    // Only a started worker listens to signals. Here the commit itself has to find the request.
    let worker = try stack.worker(ManualClock())
    let attempt = Task { try await worker.runDueActions() }
    try await stack.board.until("begin 1")
    try await stack.actions.cancel(handle)
    stack.board.open("commit 1")
    _ = try await attempt.value
    #expect(try stack.notes() == [])
    #expect(try await stack.state(of: handle) == .canceled)
  }

  // MARK: Stopping

  @Test(arguments: Backend.available)
  func `a draining stop waits for running actions, and hands them back at its time limit`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let first = try stack.enqueue(Hold(board: stack.boardName, text: "first"))
    let worker = try stack.worker(time)
    try await worker.start()
    try await stack.board.until("begin first 1")
    async let stopped: Void = worker.stop(.drain)
    stack.board.open("first 1")
    await stopped
    #expect(try await stack.state(of: first) == .succeeded)

    let second = try stack.enqueue(Hold(board: stack.boardName, text: "second"))
    try await worker.start()
    try await stack.board.until("begin second 1")
    await worker.stop(.drain, within: .zero)
    let info = try #require(try await stack.actions.action(second))
    #expect(info.state == .waiting)
    #expect(info.failedAttempts == 0)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an action can stop its own worker, and its end is saved`(backend: Backend, handsBack: Bool) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    StopWorker.workers.withLock { $0[stack.boardName] = worker }
    defer { StopWorker.workers.withLock { $0[stack.boardName] = nil } }
    try await worker.start()
    let handle = try stack.enqueue(StopWorker(board: stack.boardName, handsBack: handsBack))
    #expect(try await stack.actions.untilFinished(handle).state == .succeeded)
    await worker.stop()
    #expect(stack.board.marks == ["stopped"])
  }

  @Test(arguments: Backend.available)
  func `an action of a Connect that an action of a worker waits for can stop the worker`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Stops", managedObjectModel: ActionStack.model, storeLocation: stack.directory.url)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    AwaitStop.stops.withLock { $0[stack.boardName] = (connect, AwaitStop.Stop(worker: worker)) }
    defer { AwaitStop.stops.withLock { $0[stack.boardName] = nil } }
    try await worker.start()
    let handle = try stack.enqueue(AwaitStop(board: stack.boardName))
    #expect(try await stack.actions.untilFinished(handle).state == .succeeded)
    await worker.stop()
    #expect(stack.board.marks == ["stopped"])
    try await connect.stop()
  }

  @Test(arguments: Backend.available)
  func `a stop can hand running actions back to other workers, and the attempt does not count`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    try await stack.board.until("begin hold 1")
    await worker.stop(.handBack)
    #expect(try await stack.state(of: handle) == .waiting)

    stack.board.open("hold 1")
    let other = try stack.worker(on: stack.makeStranger(), ManualClock())
    #expect(try await other.runDueActions() == 1)
    #expect(try await stack.actions.action(handle)?.failedAttempts == 0)
  }

  @Test(arguments: Backend.available)
  func `a stop in a cancelled task hands claimed actions back, and their attempts do not count`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock()) { options in
      options.concurrency = 1
      options.maximumClaimedAhead = 8
    }
    try await worker.start()
    // The worker claims actions in advance after it has measured an attempt.
    _ = try await stack.actions.untilFinished(try stack.enqueue(Mark(board: stack.boardName)))
    let handles = try stack.saving { context in
      try [context.enqueue(Hold(board: stack.boardName), priority: .veryHigh, retry: .never)]
        + (1...3).map { try context.enqueue(Mark(board: stack.boardName, text: "\($0)"), retry: .never) }
    }
    try await stack.board.until("begin hold 1")
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await worker.stop(.handBack)
    }.value
    for handle in handles {
      let info = try #require(try await stack.actions.action(handle))
      #expect(info.state == .waiting && info.failedAttempts == 0)
    }
    #expect(try stack.workerCount() == 0)
    #expect(stack.board.marks == ["mark", "begin hold 1"])
  }

  // MARK: Waking

  @Test(arguments: Backend.available)
  func `the save of another process wakes a started worker, and so does the date of an action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(on: stack.makeStranger(), time)
    try await worker.start()
    let handle = try stack.enqueue(Mark(board: stack.boardName))
    #expect(try await stack.actions.untilFinished(handle).state == .succeeded)

    let later = try stack.enqueue(Mark(board: stack.boardName), at: time.date.addingTimeInterval(20))
    time.advance(by: .seconds(20))
    #expect(try await stack.actions.untilFinished(later).state == .succeeded)
    await worker.stop()
  }

  @Test func `an idle worker never reads the store while time passes`() async throws {
    let stack = try ActionStack()
    let time = ManualClock()
    let worker = try stack.worker(time)
    try await worker.start()
    let first = try stack.enqueue(Mark(board: stack.boardName))
    _ = try await stack.actions.untilFinished(first)
    // After its last action, the worker reads the store once more for claims of other workers.
    time.advance(by: .seconds(30))
    let looks = worker.statistics.looks
    for _ in 1...1000 { time.advance(by: .seconds(3600)) }
    let second = try stack.enqueue(Mark(board: stack.boardName))
    _ = try await stack.actions.untilFinished(second)
    #expect(worker.statistics.looks - looks <= 4)
    await worker.stop()
  }

  @Test func `a worker that is stopped while it starts runs nothing afterwards`() async throws {
    let stack = try ActionStack()
    let worker = try stack.worker(ManualClock())
    for _ in 0..<200 {
      async let start: Void = worker.start()
      await worker.stop()
      try await start
      // A start that began after the stop lasts until another stop.
      await worker.stop()
      // A started worker would refuse the call.
      #expect(try await worker.runDueActions() == 0)
    }
  }

  /// A worker whose draining stop waits for an action.
  private func drainingWorker(
    in stack: ActionStack
  ) async throws -> (worker: PersistedActionWorker, drain: Task<Void, Never>, handle: PersistedActionHandle) {
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    try await stack.board.until("begin hold 1")
    // An immediate task runs up to its first suspension, in which it waits for the stop.
    let drain = Task.immediateDetached { await worker.stop(.drain) }
    return (worker, drain, handle)
  }

  @Test func `a second stop waits for the first, and can have it hand running actions back`() async throws {
    let stack = try ActionStack()
    let (worker, drain, handle) = try await drainingWorker(in: stack)
    await worker.stop(.handBack)
    #expect(try await stack.state(of: handle) == .waiting)
    stack.board.open("hold 1")
    // A worker that still stops would refuse the call.
    #expect(try await worker.runDueActions() == 1)
    await drain.value
  }

  @Test func `the time limit of a second stop holds for the first`() async throws {
    let stack = try ActionStack()
    let (worker, drain, handle) = try await drainingWorker(in: stack)
    await worker.stop(.drain, within: .zero)
    #expect(try await stack.state(of: handle) == .waiting)
    await drain.value
  }

  @Test func `a refused start during a draining stop keeps no second stop from handing running actions back`()
    async throws
  {
    let stack = try ActionStack()
    let (worker, drain, handle) = try await drainingWorker(in: stack)
    await #expect {
      try await worker.start()
    } throws: {
      ErrorCode.illegalState ~= $0
    }
    await worker.stop(.handBack)
    #expect(try await stack.state(of: handle) == .waiting)
    await drain.value
  }
}
