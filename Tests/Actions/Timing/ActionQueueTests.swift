import Synchronization
import Testing

@testable import CoherenceActions

@Suite("The queue of actions", .timeLimit(.minutes(15)))
struct ActionQueueTests {
  /// An action that ends at once, or when the test releases it.
  private final class Item: QueuedAction {
    let priority = ActionPriority.normal
    let limit: ConcurrencyLimit? = nil
    let mayBlock = true
    let script: MockScript
    private let isLong: Bool
    private let hasBegun = Atomic<Bool>(false)

    init(isLong: Bool = false) {
      self.isLong = isLong
      script = MockScript(waits: isLong)
    }

    var isPending: Bool { !hasBegun.load(ordering: .sequentiallyConsistent) }

    func run(inLane lane: Int) -> UInt64? {
      hasBegun.store(true, ordering: .sequentiallyConsistent)
      try? script.run()
      return isLong ? 1_000_000_000 : 0
    }
  }

  /// The running actions that block an action; `nil` for an action with another blocker or none.
  private func lanes(blocking action: Item, in queue: ActionQueue<Item>) -> Set<ObjectIdentifier>? {
    let blockers = queue.blockers(of: action)
    guard blockers.condition == nil, !blockers.running.isEmpty else { return nil }
    return Set(blockers.running.map { ObjectIdentifier($0) })
  }

  @Test func `an action behind a long action begins in an idle lane, even if short actions preceded the long one`()
    async
  {
    let queue = ActionQueue<Item>(name: "test", width: 2, isSuspended: true)
    let (first, long, last) = (Item(isLong: true), Item(isLong: true), Item())
    // One lane runs the first action. The other lane runs the short actions, and then the long action.
    for action in [first] + (0..<4).map({ _ in Item() }) + [long] { queue.enqueue(action) }
    queue.isSuspended = false
    await long.script.untilBegun()
    first.script.release()
    while queue.unfinished.count > 1 { await Task.yield() }
    // The lane of the short actions wakes no other lane, until a check finds that its action is a long one.
    queue.enqueue(last)
    await last.script.untilBegun()
    #expect(queue.unfinished.contains { $0 === long })
    long.script.release()
  }

  @Test func `running actions block a waiting action only while every lane runs one`() async {
    let queue = ActionQueue<Item>(name: "test", width: 2, isSuspended: false)
    let running = [Item(isLong: true), Item(isLong: true)]
    let all = Set(running.map { ObjectIdentifier($0) })
    let waiting = Item()
    queue.enqueue(running[0])
    await running[0].script.untilBegun()
    #expect(lanes(blocking: waiting, in: queue) == nil)
    queue.enqueue(running[1])
    await running[1].script.untilBegun()
    queue.enqueue(waiting)
    #expect(lanes(blocking: waiting, in: queue) == all)
    #expect(lanes(blocking: running[0], in: queue) == nil)

    queue.isSuspended = true
    #expect(lanes(blocking: waiting, in: queue) == nil)
    queue.isSuspended = false
    #expect(lanes(blocking: waiting, in: queue) == all)
    for action in running { action.script.release() }
    await waiting.script.untilBegun()
  }

  @Test func `a condition blocks an action outside of the backlog until the action is enqueued`() async {
    let queue = ActionQueue<Item>(name: "test", width: 1, isSuspended: false)
    let (running, held) = (Item(isLong: true), Item())
    queue.enqueue(running)
    await running.script.untilBegun()
    queue.hold(held, for: .delay)
    guard queue.blockers(of: held).condition == .delay else {
      Issue.record("The blocker is not the condition.")
      return running.script.release()
    }
    queue.enqueue(held)
    #expect(lanes(blocking: held, in: queue) == Set([ObjectIdentifier(running)]))
    running.script.release()
    await held.script.untilBegun()
  }
}
