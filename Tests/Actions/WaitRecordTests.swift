import CoherenceCore
import Testing

@testable import CoherenceActions

@Suite("Records of the waits of actions")
struct WaitRecordTests {
  @Test func `an action that awaits another action twice still awaits it after the end of the first wait`() async throws
  {
    let stack = try ConnectStack.started()
    let scripts = [MockScript(waits: true), MockScript(waits: true)]
    let handles = try scripts.map { try stack.connect.execute(MockGenericAction(script: $0)) }
    for script in scripts { await script.untilBegun() }
    let (waiter, awaited) = (WaitGraph.Waiter.action(handles[0]), WaitGraph.Waiter.action(handles[1]))
    let waits = try (0..<2).map { _ in try waiter.beginWait(for: [handles[1]]) }
    waits[0]?.end()
    #expect {
      _ = try awaited.beginWait(for: [handles[0]])
    } throws: {
      ErrorCode.deadlock ~= $0
    }
    waits[1]?.end()
    let wait = try awaited.beginWait(for: [handles[0]])
    #expect(wait != nil, "No action waits for the second one any more.")
    wait?.end()
    for script in scripts { script.release() }
    for handle in handles { try await handle.value }
  }
}
