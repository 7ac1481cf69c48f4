import CoherenceActions
import CoherenceCore
import Testing

@Suite("Cancelling tasks that wait for an action")
struct CanceledWaitTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started() }

  @Test func `cancelling a task that awaits an action ends the wait and not the action`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    let waits = [Task { try await handle.value }, Task { try await handle.waitUntilFinished() }]
    for wait in waits {
      wait.cancel()
      await #expect(throws: CancellationError.self) { try await wait.value }
    }
    #expect(handle.state == .executing)
    script.release()
    try await handle.value
    #expect(handle.completionStatus == .successful && script.cancelCount == 0)
  }

  @Test func `a cancelled task gets the value of a finished action`() async throws {
    let handle = try connect.execute(TaskAction { 3 })
    try await handle.waitUntilFinished()
    let gate = TaskGate()
    let wait = Task {
      await gate.pass()
      return try await handle.value
    }
    wait.cancel()
    let value = try await wait.value
    #expect(value == 3)
  }

  @Test func `cancelling an action ends its wait for another action, which continues`() async throws {
    let script = MockScript(waits: true)
    let inner = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    let outer = try connect.execute(TaskAction { try await inner.value })
    outer.cancel()
    try await outer.waitUntilFinished()
    #expect(outer.completionStatus == .canceled && inner.state == .executing)
    script.release()
    try await inner.value
  }
}
