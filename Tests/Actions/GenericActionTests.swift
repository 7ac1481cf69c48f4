import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing

@Suite("Generic actions")
struct GenericActionTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started() }

  /// Submits an action and waits for its completion block.
  private func completed(_ action: MockGenericAction, then: (any ActionProxy) -> Void = { _ in }) async throws
    -> any ActionProxy
  {
    let (stream, continuation) = AsyncStream<any ActionProxy>.makeStream()
    let proxy = try connect.execute(action) { continuation.yield($0) }
    then(proxy)
    for await finished in stream {
      #expect(finished === proxy)
      break
    }
    return proxy
  }

  @Test func `an action that returns finishes as successful and calls its completion block`() async throws {
    let proxy = try await completed(MockGenericAction())
    #expect(proxy.state == .finished)
    #expect(proxy.completionStatus == .successful)
    #expect(proxy.error == nil)
    #expect(proxy.action is MockGenericAction)
  }

  @Test func `an action that throws finishes as failed with its error`() async throws {
    let proxy = try await completed(MockGenericAction(script: MockScript(fails: true)))
    #expect(proxy.error is MockError)
    #expect(proxy.state == .finished)
    #expect(proxy.completionStatus == .failed)
  }

  @Test func `an action cancelled before its start finishes as cancelled and calls its block`() async throws {
    let script = MockScript(waits: true)
    let proxy = try await completed(MockGenericAction(script: script)) { $0.cancel() }
    #expect(proxy.state == .finished)
    #expect(proxy.completionStatus == .canceled)
    #expect(script.cancelCount == 1)
  }

  @Test func `an action cancelled during its execution finishes as cancelled`() async throws {
    let script = MockScript(waits: true)
    let proxy = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    #expect(proxy.state == .executing)
    proxy.cancel()
    proxy.cancel()
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .canceled)
    #expect(script.cancelCount == 1)
  }

  @Test func `a cancelled action that throws counts as cancelled and keeps its error`() async throws {
    let script = MockScript(waits: true, fails: true)
    let proxy = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    proxy.cancel()
    try await proxy.waitUntilFinished()
    #expect(proxy.error is MockError)
    #expect(proxy.completionStatus == .canceled)
  }

  @Test func `a cancel after the end of an action changes nothing`() async throws {
    let script = MockScript(fails: true)
    let proxy = try await completed(MockGenericAction(script: script))
    proxy.cancel()
    #expect(proxy.completionStatus == .failed)
    #expect(proxy.error is MockError)
    #expect(script.cancelCount == 0)
  }

  @Test func `by default at most five generic actions run at once`() async throws {
    let scripts = (0..<8).map { _ in MockScript(waits: true) }
    let proxies = try scripts.map { try connect.execute(MockGenericAction(script: $0)) }
    for script in scripts.prefix(5) { await script.untilBegun() }
    #expect(proxies.map(\.state) == Array(repeating: .executing, count: 5) + Array(repeating: .pending, count: 3))
    for script in scripts { script.release() }
    for proxy in proxies { try await proxy.waitUntilFinished() }
    #expect(proxies.allSatisfy { $0.completionStatus == .successful })
  }

  @Test func `a slow completion block delays neither actions nor other completion blocks`() async throws {
    let slow = MockScript(waits: true)
    try connect.execute(MockGenericAction()) { _ in try? slow.run() }
    await slow.untilBegun()
    #expect(try await completed(MockGenericAction()).completionStatus == .successful)
    slow.release()
  }

  @Test func `the handle of an asynchronous action returns the result`() async throws {
    struct Sum: AsyncGenericAction {
      let numbers: [Int]
      func execute() async throws -> Int {
        await Task.yield()
        return numbers.reduce(0, +)
      }
    }
    let handle = try connect.execute(Sum(numbers: [1, 2, 3]))
    #expect(try await handle.value == 6)
    #expect(handle.completionStatus == .successful)
  }

  @Test func `cancelling an asynchronous action cancels its task`() async throws {
    struct Endless: AsyncGenericAction {
      let script: MockScript
      func execute() async throws {
        try script.run()
        while true {
          try Task.checkCancellation()
          await Task.yield()
        }
      }
    }
    let script = MockScript()
    let handle = try connect.execute(Endless(script: script))
    await script.untilBegun()
    handle.cancel()
    await #expect(throws: CancellationError.self) { try await handle.value }
    #expect(handle.completionStatus == .canceled)
  }
}
