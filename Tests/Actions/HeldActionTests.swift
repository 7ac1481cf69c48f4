import Testing

@testable import CoherenceActions

@Suite("Actions that a queue holds")
struct HeldActionTests {
  private final class Item: QueuedAction {
    let priority = ActionPriority.normal
    let isPending = true
    let mayBlock = true
    func run(inLane lane: Int) -> UInt64? { 0 }
  }

  private let queue = ActionQueue<Item>(name: "held", width: 1, isSuspended: true)

  private func isHeld(_ action: Item) -> Bool {
    queue.blockers(of: action).condition != nil
  }

  @Test func `an action held for a condition waits for its lane alone when it enters the queue`() {
    let (first, second) = (Item(), Item())
    for action in [first, second] { queue.hold(action, for: .prerequisites) }
    #expect(isHeld(first) && isHeld(second))
    queue.enqueue(first)
    #expect(!isHeld(first) && isHeld(second))
    #expect(queue.unfinished.count == 2, "The queue has each action once.")
  }
}
