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

  // MARK: Limits

  /// An action with a limit. It records its lane, and releases its slot at its end, as an action of a Connect does,
  /// unless the test releases the slot.
  private final class LimitedItem: QueuedAction {
    let priority = ActionPriority.normal
    let limit: ConcurrencyLimit?
    let mayBlock = true
    let script: MockScript
    private let queue: ActionQueue<LimitedItem>
    private let isShort: Bool
    private let releasesSlot: Bool
    private let startedLane = Mutex<Int?>(nil)

    init(
      in queue: ActionQueue<LimitedItem>, maximum: Int, isShort: Bool, waits: Bool = false, releasesSlot: Bool = true
    ) {
      self.queue = queue
      self.isShort = isShort
      self.releasesSlot = releasesSlot
      limit = ConcurrencyLimit("host", maximum)
      script = MockScript(waits: waits)
    }

    var lane: Int? { startedLane.withLock { $0 } }
    var isPending: Bool { lane == nil }

    func run(inLane lane: Int) -> UInt64? {
      startedLane.withLock { $0 = lane }
      try? script.run()
      if releasesSlot { queue.releaseSlot(of: self, laneContinues: true) }
      return isShort ? 0 : 1_000_000_000
    }
  }

  /// The scheduled checks of a queue, which a test runs itself.
  private final class Checks: Sendable {
    private let due = Mutex<[CallbackQueue.Block]>([])
    func add(_ check: @escaping CallbackQueue.Block) { due.withLock { $0.append(check) } }

    func callAll() {
      let due = due.withLock { due in
        defer { due = [] }
        return due
      }
      for check in due { check() }
    }
  }

  private func run(
    _ actions: [LimitedItem], in queue: ActionQueue<LimitedItem>, _ groups: ConcurrencyGroups<LimitedItem>
  ) {
    for action in actions { queue.enqueue(action) }
    queue.isSuspended = false
    groups.fillAllSlots()
  }

  @Test func `the lane of an action that releases a slot takes the slot for the next action of its queue`() async {
    let groups = ConcurrencyGroups<LimitedItem>()
    let queue = ActionQueue<LimitedItem>(name: "test", width: 2, isSuspended: true, groups: groups)
    let actions = (0..<8).map { LimitedItem(in: queue, maximum: 1, isShort: false, waits: $0 == 0) }
    run(actions, in: queue, groups)
    actions[0].script.release()
    while !queue.unfinished.isEmpty { await Task.yield() }
    let lanes = Set(actions.map(\.lane))
    #expect(lanes.count == 1 && !lanes.contains(nil))
  }

  @Test func `a slot released by another thread after the lane of its action is idle begins the next action`() async {
    let groups = ConcurrencyGroups<LimitedItem>()
    let queue = ActionQueue<LimitedItem>(name: "test", width: 1, isSuspended: false, groups: groups)
    let canceled = LimitedItem(in: queue, maximum: 1, isShort: false, releasesSlot: false)
    let last = LimitedItem(in: queue, maximum: 1, isShort: false)
    queue.enqueue(canceled)
    await canceled.script.untilBegun()
    queue.enqueue(last)
    while queue.unfinished.contains(where: { $0 === canceled }) { await Task.yield() }
    #expect(last.isPending)
    queue.releaseSlot(of: canceled)
    await last.script.untilBegun()
  }

  @Test
  func `an action with a limit waits for a lane of short actions until checks find that its action is a long one`()
    async
  {
    let groups = ConcurrencyGroups<LimitedItem>()
    let checks = Checks()
    let queue = ActionQueue<LimitedItem>(
      name: "test", width: 2, isSuspended: true, groups: groups, afterMoment: { checks.add($0) })
    let shorts = (0..<4).map { LimitedItem(in: queue, maximum: 1, isShort: true, waits: $0 == 0) }
    let long = LimitedItem(in: queue, maximum: 1, isShort: false, waits: true)
    run(shorts + [long], in: queue, groups)
    shorts[0].script.release()
    await long.script.untilBegun()
    // The limit has a free slot for the action, and the queue an idle lane.
    let last = LimitedItem(in: queue, maximum: 2, isShort: true)
    queue.enqueue(last)
    #expect(queue.blockers(of: LimitedItem(in: queue, maximum: 2, isShort: true)).running.isEmpty)
    // The first check sees the start of the long action; the second finds no start.
    checks.callAll()
    checks.callAll()
    await last.script.untilBegun()
    #expect(queue.unfinished.contains { $0 === long })
    long.script.release()
  }

  @Test func `an action with a limit begins in an idle lane although a lane of short actions runs a long one`() async {
    let groups = ConcurrencyGroups<LimitedItem>()
    let queue = ActionQueue<LimitedItem>(name: "test", width: 2, isSuspended: true, groups: groups)
    let long = LimitedItem(in: queue, maximum: 2, isShort: false, waits: true)
    let shorts = (0..<100).map { _ in LimitedItem(in: queue, maximum: 2, isShort: true) }
    run(shorts + [long], in: queue, groups)
    await long.script.untilBegun()
    let last = LimitedItem(in: queue, maximum: 2, isShort: true)
    queue.enqueue(last)
    await last.script.untilBegun()
    long.script.release()
  }
}
