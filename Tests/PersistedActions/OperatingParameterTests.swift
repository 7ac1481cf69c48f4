import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The parameters and the results of `PersistedActions`, of retentions and of retries.
@Suite(.timeLimit(.minutes(15))) struct OperatingParameterTests {
  // MARK: Listing

  @Test(arguments: Backend.available)
  func `a page has the actions in the given states and of the given queue`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let mail = try (0..<2).map { _ in try stack.enqueue(Mark(board: stack.boardName), queue: "mail") }
    let done = try stack.enqueue(Mark(board: stack.boardName))
    let later = try stack.enqueue(Mark(board: stack.boardName), at: ManualClock.firstDate + 60, queue: "mail")
    try await stack.worker(ManualClock()).runDueActions()
    let actions = stack.actions
    let inQueue = try await actions.actions(queue: "mail").map(\.handle)
    #expect(inQueue.count == 3 && Set(inQueue) == Set(mail + [later]))
    #expect(try await actions.actions(queue: "default").map(\.handle) == [done])
    let inStates = try await actions.actions(in: [.succeeded, .scheduled]).map(\.handle)
    #expect(inStates.count == 2 && Set(inStates) == [done, later])
    #expect(try await actions.actions(in: [.succeeded], queue: "mail").isEmpty)
    #expect(try await actions.actions(named: "Answer").isEmpty)
  }

  @Test func `the list of actions by the beginning of an identifier has at most the given number`() async throws {
    let stack = try ActionStack()
    // Seventeen identifiers begin with sixteen digits, so that two begin with the same one.
    let texts = try (0..<17).map { _ in try stack.enqueue(Mark(board: stack.boardName)).id.uuidString }
    let groups = Dictionary(grouping: texts) { String($0.prefix(1)) }
    let alike = try #require(groups.first { $0.value.count > 1 })
    let first = try #require(alike.value.min())
    #expect(try await stack.actions.actions(idPrefix: alike.key, limit: 1).map(\.id.uuidString) == [first])
  }

  @Test func `an action without a result has none, and an unknown action is an error`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Mark(board: stack.boardName))
    #expect(try await stack.actions.result(of: handle, as: Int.self) == nil)
    let unknown = PersistedActionHandle(id: UUID(), name: "Mark")
    #expect(try await stack.actions.action(unknown) == nil)
    await #expect { try await stack.actions.result(of: unknown, as: Int.self) } throws: {
      ErrorCode.objectNotFound ~= $0
    }
    await #expect { try await stack.actions.cancel(unknown) } throws: { ErrorCode.objectNotFound ~= $0 }
    await #expect { try await stack.actions.retry(unknown) } throws: { ErrorCode.objectNotFound ~= $0 }
    await #expect { try await stack.actions.untilFinished(unknown) } throws: { ErrorCode.objectNotFound ~= $0 }
  }

  // MARK: Changing

  @Test(arguments: Backend.available)
  func `a cancelled action runs again on request, and an unfinished or succeeded one does not`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Mark(board: stack.boardName))
    #expect(try await !stack.actions.retry(handle))
    for _ in 1...2 { #expect(try await stack.actions.cancel(handle)) }
    #expect(try await stack.actions.action(handle)?.finishedDate == ManualClock.firstDate)
    #expect(try await stack.actions.retry(handle))
    let again = try #require(try await stack.actions.action(handle))
    #expect(again.state == .waiting && again.finishedDate == nil)
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    #expect(try await !stack.actions.retry(handle))
    #expect(try await !stack.actions.cancel(handle))
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `an action cannot be retried while an equal action is unfinished`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let first = try stack.enqueue(Mark(board: stack.boardName, text: "first"), key: "key")
    #expect(try await stack.actions.cancel(first))
    let second = try stack.enqueue(Mark(board: stack.boardName, text: "second"), key: "key")
    await #expect { try await stack.actions.retry(first) } throws: { ErrorCode.uniquenessViolated ~= $0 }
    #expect(try await stack.state(of: first) == .canceled)
    try await stack.worker(ManualClock()).runDueActions()
    #expect(stack.board.marks == ["second"])
    #expect(try await stack.state(of: second) == .succeeded)
    #expect(try await stack.actions.retry(first))
  }

  // MARK: Retention

  /// An action of each final state, all of which end at the first date.
  private func finished(in stack: ActionStack) async throws -> [PersistedActionHandle] {
    let canceled = try stack.enqueue(Mark(board: stack.boardName))
    #expect(try await stack.actions.cancel(canceled))
    let succeeded = try stack.enqueue(Mark(board: stack.boardName))
    let parked = try stack.enqueue(Fail(board: stack.boardName, times: 1), retry: .never)
    try await stack.worker(ManualClock()).runDueActions()
    return [succeeded, canceled, parked]
  }

  private func states(
    of handles: [PersistedActionHandle], in stack: ActionStack
  ) async throws -> [PersistedActionState?] {
    var states: [PersistedActionState?] = []
    for handle in handles { states.append(try await stack.state(of: handle)) }
    return states
  }

  @Test(arguments: Backend.available)
  func `by default a succeeded action is kept for a day, a cancelled one for a week, and a parked one for ever`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let handles = try await finished(in: stack)
    for (seconds, expected) in [
      (86_399.0, [.succeeded, .canceled, .parked]), (86_401, [nil, .canceled, .parked]),
      (604_799, [nil, .canceled, .parked]), (604_801, [nil, nil, .parked]), (1e9, [nil, nil, .parked]),
    ] as [(Double, [PersistedActionState?])] {
      try await stack.actions.prune(PersistedActionRetention(), at: ManualClock.firstDate + seconds)
      #expect(try await states(of: handles, in: stack) == expected, "\(seconds)")
    }
  }

  @Test(arguments: Backend.available)
  func `a retention has a time for each final state`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handles = try await finished(in: stack)
    let retention = PersistedActionRetention(succeeded: nil, canceled: .seconds(30), parked: .seconds(10))
    let date = ManualClock.firstDate
    #expect(try await stack.actions.prune(retention, at: date + 11) == 1)
    #expect(try await states(of: handles, in: stack) == [.succeeded, .canceled, nil])
    #expect(try await stack.actions.prune(retention, at: date + 31) == 1)
    #expect(try await stack.actions.prune(retention, at: date + 1e9) == 0)
    #expect(try await states(of: handles, in: stack) == [.succeeded, nil, nil])
  }

  @Test(arguments: Backend.available)
  func `the longest retention keeps the actions of its state, and those of other states are pruned`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let handles = try await finished(in: stack)
    let longest = Duration.seconds(Int64.max)
    let retention = PersistedActionRetention(succeeded: longest, canceled: longest, parked: .seconds(10))
    #expect(try await stack.actions.prune(retention, at: ManualClock.firstDate + 11) == 1)
    #expect(try await states(of: handles, in: stack) == [.succeeded, .canceled, nil])
  }

  // MARK: Retries

  @Test(arguments: Backend.available)
  func `the delays of the enqueued policy grow by its factor up to its maximum`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let retry = PersistedRetry(
      attempts: 5, initialDelay: .seconds(10), factor: 3, maximumDelay: .seconds(50), jitter: 0)
    let handle = try stack.enqueue(Fail(board: stack.boardName, times: 9), retry: retry)
    for delay in [10.0, 30, 50, 50] {
      #expect(try await worker.runDueActions() == 1)
      #expect(try await stack.actions.action(handle)?.dueDate == time.date + delay)
      time.advance(by: .seconds(delay))
    }
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .parked)
  }

  @Test(arguments: Backend.available)
  func `an action with the longest delay is scheduled after a failure`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let retry = PersistedRetry(initialDelay: .seconds(Int64.max), maximumDelay: .seconds(Int64.max), jitter: 0)
    let handle = try stack.enqueue(Fail(board: stack.boardName, times: 9), retry: retry)
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .scheduled)
  }

  @Test func `a record keeps the latest ten failures, and counts all`() async throws {
    let stack = try ActionStack()
    let worker = try stack.worker(ManualClock())
    let retry = PersistedRetry(attempts: 20, initialDelay: .zero, jitter: 0)
    let handle = try stack.enqueue(Fail(board: stack.boardName, times: 12), retry: retry)
    while try await stack.state(of: handle) != .succeeded { try await worker.runDueActions() }
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.failedAttempts == 12)
    #expect(info.failures.map(\.attempt) == Array(3...12))
  }

  @Test func `values of a retry policy out of range are replaced by the nearest valid value`() {
    let retry = PersistedRetry(
      attempts: 0, initialDelay: .seconds(-1), factor: 0.5, maximumDelay: .seconds(-1), jitter: 2)
    #expect(retry.attempts == 1 && retry.factor == 1 && retry.jitter == 1)
    #expect(retry.initialDelay == .zero && retry.maximumDelay == .zero)
    #expect(PersistedRetry(jitter: -1).jitter == 0)
    #expect(PersistedActionQueue("mail", concurrency: 0).concurrency == 1)
  }

  // MARK: Types and workers

  /// An action with a queue and a policy of its own, which always fails.
  private struct Letter: PersistedAction {
    static let queue = "mail"
    static let retry = PersistedRetry.never
    struct Failure: Error {}
    func run(in context: PersistedActionContext) async throws { throw Failure() }
  }

  @Test(arguments: Backend.available)
  func `the type of an action gives the queue and the policy that its enqueueing does not`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let own = try stack.enqueue(Letter())
    let other = try stack.enqueue(Letter(), queue: "audit", retry: PersistedRetry(attempts: 2))
    let schedules = [
      PersistedSchedule("a", .every(.seconds(3600)), Letter()),
      PersistedSchedule("b", .every(.seconds(3600)), Letter(), queue: "audit"),
    ]
    let worker = try PersistedActionWorker(
      stack.container, actions: [Letter.self], schedules: schedules,
      options: PersistedActionOptions(queues: ["mail", "audit"]), clock: time.workerClock)
    try await worker.runDueActions()
    #expect(try await stack.state(of: own) == .parked)
    #expect(try await stack.state(of: other) == .scheduled)
    #expect(try await stack.actions.action(own)?.queue == "mail")
    #expect(try await stack.actions.action(other)?.queue == "audit")
    #expect(try await stack.actions.schedules().map(\.queue) == ["mail", "audit"])
  }

  @Test(arguments: Backend.available)
  func `a listed action has its dates, its worker while it runs, and its result and checkpoint`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    let waiting = try #require(try await stack.actions.action(handle))
    #expect(waiting.startedDate == nil && waiting.worker == nil && waiting.progress == nil)
    let attempt = Task { try await worker.runDueActions() }
    try await stack.board.until("begin hold 1")
    let running = try #require(try await stack.actions.action(handle))
    #expect(running.startedDate == time.date && running.worker != nil && running.finishedDate == nil)
    time.advance(by: .seconds(20))
    stack.board.open("hold 1")
    _ = try await attempt.value
    let finished = try #require(try await stack.actions.action(handle))
    #expect(finished.startedDate == ManualClock.firstDate && finished.finishedDate == ManualClock.firstDate + 20)
    #expect(finished.worker == nil && !finished.hasResult && !finished.hasCheckpoint && finished.scheduleText == nil)

    let answer = try stack.enqueue(Answer(number: 1))
    let walk = try stack.enqueue(Walk(board: stack.boardName, steps: 1, stumblesBefore: 9))
    try await worker.runDueActions()
    #expect(try await stack.actions.action(answer)?.hasResult == true)
    #expect(try await stack.actions.action(walk)?.hasCheckpoint == true)
  }

  @Test(arguments: Backend.available)
  func `the record of a worker has the worker's name`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock()) { $0.workerName = "night" }
    try await worker.start()
    let context = stack.container.newBackgroundContext()
    let names: [AttributeValue] = try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceActionWorker")).map {
        try $0.value(for: "name")
      }
    }
    #expect(names == [.string("night")])
    await worker.stop()
  }

  /// The action `Mark` in a later version of the program, in which the type has another name.
  private struct Stamp: PersistedAction {
    static let formerNames = ["Mark"]
    func run(in context: PersistedActionContext) async throws {}
  }

  @Test func `a worker refuses two actions with one name, also with a former one`() throws {
    let stack = try ActionStack()
    for actions in [[Mark.self, Mark.self], [Mark.self, Stamp.self]] as [[any PersistedAction.Type]] {
      #expect { try PersistedActionWorker(stack.container, actions: actions) } throws: { ErrorCode.illegalState ~= $0 }
    }
  }
}
