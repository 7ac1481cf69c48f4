import CoherenceStrategies
import Dispatch
import Testing

@testable import CoherenceActions

@Suite("Actions that a queue holds")
struct HeldActionTests {
  private let queue = ActionQueue<IdleAction>(name: "held", width: 1, isSuspended: true)

  private func isHeld(_ action: IdleAction) -> Bool {
    queue.blockers(of: action).condition != nil
  }

  @Test func `an action held for a condition waits for its lane alone when it enters the queue`() {
    let (first, second) = (IdleAction(), IdleAction())
    for action in [first, second] { queue.hold(action, for: .prerequisites) }
    #expect(isHeld(first) && isHeld(second))
    queue.enqueue(first)
    #expect(!isHeld(first) && isHeld(second))
    #expect(queue.unfinished.count == 2, "The queue has each action once.")
  }

  /// An action whose cancellation waits.
  private struct SlowlyCanceledAction: GenericAction {
    let canceling: MockScript
    func execute() throws {}
    func cancel() { try? canceling.run() }
  }

  @Test func `an action that its caller is cancelling stays in its queue without a slot, so that a stop waits for it`()
    async throws
  {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let canceling = MockScript(waits: true)
    stack.connect.suspended = true
    let handle = try stack.connect.execute(SlowlyCanceledAction(canceling: canceling), options: options)
    let next = try stack.connect.execute(MockGenericAction(), options: options)
    // On a thread of its own: the call blocks within the cancellation.
    DispatchQueue(label: "cancel").async { handle.cancel() }
    await canceling.untilBegun()
    stack.connect.suspended = false
    try await next.value
    #expect(handle.state == .pending)
    #expect(handle.queue.unfinished.contains { $0 === handle })
    canceling.release()
    try await handle.waitUntilFinished()
    #expect(!handle.queue.unfinished.contains { $0 === handle })
  }
}
