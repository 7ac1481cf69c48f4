import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Testing

@testable import CoherenceActions

@Suite("Policies for equal actions", .timeLimit(.minutes(15)))
struct EqualActionPolicyTests {
  /// Records its page at its execution. The key of the submission does not contain the page.
  private struct Load: GenericAction {
    let page: Int
    let log: OrderLog
    var script = MockScript()
    func execute() throws {
      log.enter(page)
      try script.run()
    }
    func cancel() { script.cancel() }
  }

  private let stack: ConnectStack
  private let log = OrderLog()
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started() }

  private func options(_ policy: EqualActionPolicy) -> ActionOptions {
    ActionOptions(uniqueKey: "load", equalActionPolicy: policy)
  }

  private func load(
    _ page: Int, _ policy: EqualActionPolicy, script: MockScript = MockScript()
  ) throws -> ActionHandle<Void> {
    try connect.execute(Load(page: page, log: log, script: script), options: options(policy))
  }

  // MARK: Joining

  @Test func `by default a submission joins a running action whose arguments differ`() async throws {
    let script = MockScript(waits: true)
    let first = try connect.execute(
      Load(page: 1, log: log, script: script), options: ActionOptions(uniqueKey: "load"))
    await script.untilBegun()
    let second = try connect.execute(Load(page: 2, log: log), options: ActionOptions(uniqueKey: "load"))
    #expect(second === first && first.statistics.joins == 1)
    script.release()
    try await second.value
    #expect(log.numbers == [1])
    #expect("\(first.statistics)".contains("joins: 1"))
  }

  @Test func `with joinPending a submission runs after a running equal action, with its own arguments`()
    async throws
  {
    let script = MockScript(waits: true, fails: true)
    let first = try load(1, .joinPending, script: script)
    await script.untilBegun()
    let second = try load(2, .joinPending)
    let third = try load(3, .joinPending)
    #expect(second !== first && third === second)
    #expect(second.state == .pending && first.statistics.joins == 0 && second.statistics.joins == 1)
    script.release()
    try await second.value
    #expect(first.completionStatus == .failed)
    #expect(log.numbers == [1, 2])
  }

  @Test func `after cancelling a waiting equal action, a submission can join the running action`() async throws {
    let script = MockScript(waits: true)
    let first = try load(1, .join, script: script)
    await script.untilBegun()
    let second = try load(2, .joinPending)
    #expect(second !== first)
    second.cancel()
    #expect(second.completionStatus == .canceled)
    #expect(try load(3, .join) === first)
    script.release()
    try await first.value
    #expect(try load(4, .join) !== first)
  }

  @Test func `an action that awaits an equal action waiting for its end throws`() async throws {
    struct Nested: AsyncGenericAction {
      let connect: TestConnect
      var isOuter = false
      func execute() async throws {
        guard isOuter else { return }
        try await connect.execute(
          Nested(connect: connect), options: ActionOptions(uniqueKey: "nested", equalActionPolicy: .joinPending)
        ).value
      }
    }
    let outer = try connect.execute(
      Nested(connect: connect, isOuter: true), options: ActionOptions(uniqueKey: "nested"))
    await #expect { try await outer.value } throws: { ErrorCode.deadlock ~= $0 }
  }

  // MARK: Replacing

  @Test func `a replaced waiting action never runs and ends with actionReplaced`() async throws {
    connect.suspended = true
    let (stream, continuation) = AsyncStream<any ActionProxy>.makeStream()
    let first = try connect.execute(Load(page: 1, log: log), options: options(.join)) { continuation.yield($0) }
    let second = try load(2, .replace)
    #expect(second !== first && second.state == .pending)
    await #expect { try await first.value } throws: { ErrorCode.actionReplaced ~= $0 }
    #expect(first.completionStatus == .canceled && first.statistics.isReplaced && first.statistics.attempts == 0)
    for await proxy in stream {
      #expect(proxy === first)
      break
    }
    connect.suspended = false
    try await second.value
    #expect(log.numbers == [2] && !second.statistics.isReplaced)
  }

  @Test func `a replaced running action is cancelled, and the later action begins after its end`() async throws {
    let script = MockScript(waits: true, fails: true, ignoresCancel: true)
    let first = try load(1, .join, script: script)
    await script.untilBegun()
    let second = try load(2, .replace)
    #expect(script.cancelCount == 1)
    #expect(first.state == .executing && second.state == .pending)
    script.release()
    try await second.value
    #expect(first.completionStatus == .canceled && first.statistics.isReplaced)
    let error = try #require(first.error as? CoherenceError)
    #expect(error.code == .actionReplaced && error.underlying is MockError)
    #expect(log.numbers == [1, 2])
  }

  @Test func `of several replacements only the latest runs, after the first has ended`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    let first = try load(1, .replace, script: script)
    await script.untilBegun()
    let second = try load(2, .replace)
    let third = try load(3, .replace)
    try await second.waitUntilFinished()
    #expect(second.statistics.isReplaced && second.statistics.attempts == 0)
    // With a free slot: the later action waits only for the first.
    try await connect.execute(MockGenericAction()).value
    #expect(third.state == .pending)
    script.release()
    try await third.value
    #expect(first.statistics.isReplaced && script.cancelCount == 1)
    #expect(log.numbers == [1, 3])
  }

  @Test func `of many replacements the latest retains no action that has ended`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    let first = try load(1, .replace, script: script)
    await script.untilBegun()
    var latest = first
    for page in 2...50 { latest = try load(page, .replace) }
    // The running action, and the action replaced last, which was not cancelled yet at the submission.
    #expect(latest.resolvedOptions?.prerequisites.all.count == 2)
    script.release()
    try await latest.value
    #expect(log.numbers == [1, 50])
  }

  @Test func `the records of the latest action are stored last`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    let options = options(.replace)
    let first = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try script.run()
        try context.performAndWait {
          context.insert(ConnectEntity1.make(1, "former"))
          try context.save()
        }
      }, options: options)
    await script.untilBegun()
    let second = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          for object in try context.fetch(FetchRequest(ConnectEntity1.self)) { object.string = "latest" }
          try context.save()
        }
      }, options: options)
    script.release()
    try await second.value
    #expect(first.statistics.isReplaced)
    #expect(try stack.strings() == [1: "latest"])
  }
}

@Suite("Priorities of equal actions", .timeLimit(.minutes(15)))
struct EqualActionPriorityTests {
  private let log = OrderLog()

  private func action(_ number: Int) -> TaskAction<Void> { TaskAction { [log] in log.enter(number) } }

  private func options(_ priority: ActionPriority, raises: Bool = false) -> ActionOptions {
    ActionOptions(priority: priority, uniqueKey: "key", raisesPriority: raises)
  }

  @Test(arguments: [false, true])
  func `a joined action keeps its priority, or gets a higher one if the submission requests it`(raises: Bool)
    async throws
  {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    stack.connect.suspended = true
    let joined = try stack.connect.execute(action(0), options: options(.low))
    let others = try [1, 2].map { try stack.connect.execute(action($0)) }
    #expect(try stack.connect.execute(action(3), options: options(.high, raises: raises)) === joined)
    // A lower priority has no effect.
    #expect(try stack.connect.execute(action(4), options: options(.veryLow, raises: raises)) === joined)
    stack.connect.suspended = false
    for handle in others + [joined] { try await handle.value }
    #expect(log.numbers == (raises ? [0, 1, 2] : [1, 2, 0]))
    #expect(joined.statistics.joins == 2)
  }

  @Test func `joining raises the priority of an action that waits for the start`() async throws {
    let stack = try ConnectStack(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let other = try stack.connect.execute(action(1), options: ActionOptions(priority: .low))
    let joined = try stack.connect.execute(action(0), options: options(.veryLow))
    #expect(try stack.connect.execute(action(2), options: options(.high, raises: true)) === joined)
    try await stack.connect.start()
    for handle in [joined, other] { try await handle.value }
    #expect(log.numbers == [0, 1])
  }

  @Test func `joining raises the priority of an action that waits for a concurrency limit`() async throws {
    let stack = try ConnectStack.started()
    let limit = ConcurrencyLimit("host", 1)
    let script = MockScript(waits: true)
    let holder = try stack.connect.execute(MockGenericAction(script: script), options: ActionOptions(limit: limit))
    await script.untilBegun()
    let other = try stack.connect.execute(action(1), options: ActionOptions(priority: .low, limit: limit))
    var low = options(.veryLow)
    low.limit = limit
    let joined = try stack.connect.execute(action(0), options: low)
    #expect(try stack.connect.execute(action(2), options: options(.high, raises: true)) === joined)
    script.release()
    for handle in [holder, joined, other] { try await handle.value }
    #expect(log.numbers == [0, 1])
  }
}
