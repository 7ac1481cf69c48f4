import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Dispatch
import Synchronization
import Testing

@Suite("Completion blocks that block", .timeLimit(.minutes(15)))
struct CompletionBlockTests {
  /// More than the threads of a global queue: if they all were blocked, no other block would begin.
  private static let many = 300

  @Test func `blocked completion blocks delay neither the start nor the end of other actions`() async throws {
    let stack = try ConnectStack.started()
    let gate = DispatchSemaphore(value: 0)
    defer { for _ in 0..<Self.many { gate.signal() } }
    let (begun, continuation) = AsyncStream<Void>.makeStream()
    for _ in 0..<Self.many {
      try stack.connect.execute(MockGenericAction()) { _ in
        continuation.yield()
        gate.wait()
      }
    }
    var blocked = 0
    for await _ in begun {
      blocked += 1
      if blocked == 64 { break }
    }
    #expect(try await stack.connect.execute(TaskAction { 3 }).value == 3)
    try await stack.connect.execute(MockGenericAction()).value
    try await stack.connect.execute(MockEntityAction<ConnectEntity1>()).value
    try await stack.connect.stop(.drain)
    #expect(stack.connect.state == .stopped)
  }

  @Test func `a completion block can wait for the completion blocks of later actions`() async throws {
    let stack = try ConnectStack.started()
    let arrivals = DispatchGroup()
    for _ in 0..<64 { arrivals.enter() }
    let (ends, continuation) = AsyncStream<Void>.makeStream()
    for _ in 0..<64 {
      try stack.connect.execute(MockGenericAction()) { _ in
        arrivals.leave()
        arrivals.wait()
        continuation.yield()
      }
    }
    var count = 0
    for await _ in ends {
      count += 1
      if count == 64 { break }
    }
  }

  @Test func `blocked blocks of stops delay no task`() async throws {
    let stack = try ConnectStack.started()
    let gate = DispatchSemaphore(value: 0)
    defer { for _ in 0..<Self.many { gate.signal() } }
    let (begun, continuation) = AsyncStream<Void>.makeStream()
    let script = MockScript(waits: true)
    try stack.connect.execute(MockGenericAction(script: script))
    for _ in 0..<Self.many {
      stack.connect.stop(.drain) { _ in
        continuation.yield()
        gate.wait()
      }
    }
    // The end of the action is the end of the one stop that all calls share.
    script.release()
    var blocked = 0
    for await _ in begun {
      blocked += 1
      if blocked == 64 { break }
    }
    let value = await Task.detached { 3 }.value
    #expect(value == 3)
  }
}

@Suite("The order of completion blocks", .timeLimit(.minutes(15)))
struct CompletionOrderTests {
  @Test func `with a maximum of one, completion blocks are called one by one in the order of the actions' ends`()
    async throws
  {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentCompletionBlocks: 1))
    let log = OrderLog()
    let running = Mutex(0)
    let (together, continuation) = AsyncStream<Int>.makeStream()
    for number in 0..<1_000 {
      // Actions on one entity end in the order in which they were submitted.
      try stack.connect.execute(MockEntityAction<ConnectEntity1>()) { _ in
        continuation.yield(
          running.withLock { running in
            running += 1
            return running
          })
        log.enter(number)
        running.withLock { $0 -= 1 }
      }
    }
    var counts: [Int] = []
    for await count in together {
      counts.append(count)
      if counts.count == 1_000 { break }
    }
    // The last block records its number before another action's block begins, and has yielded its count.
    let last = try stack.connect.execute(MockEntityAction<ConnectEntity1>()) { _ in continuation.finish() }
    try await last.value
    for await _ in together {}
    #expect(counts.allSatisfy { $0 == 1 })
    #expect(log.numbers == Array(0..<1_000))
  }

  @Test func `completion blocks of equal actions are called one after the other in the order of the submissions`()
    async throws
  {
    let stack = try ConnectStack.started()
    let script = MockScript(waits: true)
    let log = OrderLog()
    let (done, continuation) = AsyncStream<Void>.makeStream()
    for number in 0..<50 {
      try stack.connect.execute(MockGenericAction(script: script), options: ActionOptions(uniqueKey: "one")) { _ in
        log.enter(number)
        if number == 49 { continuation.finish() }
      }
    }
    script.release()
    for await _ in done {}
    #expect(log.numbers == Array(0..<50))
  }

  @Test func `a maximum of completion blocks below one counts as one`() async throws {
    var options = ConnectOptions()
    options.maximumConcurrentCompletionBlocks = -3
    let stack = try ConnectStack.started(options: options)
    let (done, continuation) = AsyncStream<Void>.makeStream()
    try stack.connect.execute(MockGenericAction()) { _ in continuation.finish() }
    for await _ in done {}
  }
}
