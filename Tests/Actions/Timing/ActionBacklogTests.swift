import Synchronization
import Testing

@testable import CoherenceActions

/// The waiting actions of queues and concurrency limits.
@Suite("The order of waiting actions")
struct ActionBacklogTests {
  /// An action whose priority and state a test sets.
  private final class Item: QueuedAction {
    let name: String
    let mayBlock = true
    let limit: ConcurrencyLimit?
    private let content: Mutex<(priority: ActionPriority, isPending: Bool)>
    private let reads = Atomic<Int>(0)

    init(_ name: String, _ priority: ActionPriority = .normal, limit: ConcurrencyLimit? = nil) {
      self.name = name
      self.limit = limit
      content = Mutex((priority, true))
    }

    var priority: ActionPriority {
      get { content.withLock { $0.priority } }
      set { content.withLock { $0.priority = newValue } }
    }
    var isPending: Bool {
      reads.add(1, ordering: .relaxed)
      return content.withLock { $0.isPending }
    }
    /// The number of reads of `isPending`.
    var readCount: Int { reads.load(ordering: .relaxed) }

    func withdraw() { content.withLock { $0.isPending = false } }
    func run(inLane lane: Int) -> UInt64? { 0 }
  }

  /// Removes all actions, in their order.
  private func drain(_ backlog: inout ActionBacklog<Item>) -> [String] {
    var names: [String] = []
    while let action = backlog.popFirst() { names.append(action.name) }
    #expect(backlog.isEmpty && backlog.count == 0)
    return names
  }

  private func backlog(_ items: [Item]) -> ActionBacklog<Item> {
    var backlog = ActionBacklog<Item>()
    for item in items { backlog.append(item) }
    return backlog
  }

  // MARK: Queues

  @Test func `actions leave by priority, and those of one priority in the order of their entry`() {
    let items = [
      Item("low", .low), Item("first"), Item("high", .veryHigh), Item("second"), Item("least", .veryLow),
      Item("late", .veryHigh),
    ]
    var all = backlog(items)
    #expect(all.count == 6 && !all.isEmpty)
    #expect(all.pending.map(\.name) == ["high", "late", "first", "second", "low", "least"])
    #expect(drain(&all) == ["high", "late", "first", "second", "low", "least"])
  }

  @Test func `a raised action leaves behind the actions of its new priority`() {
    let (raised, other) = (Item("raised", .veryLow), Item("other", .high))
    var all = backlog([Item("low", .low), raised, Item("high", .high), Item("normal")])
    raised.priority = .high
    all.raise(raised)
    // An action that does not wait here, and one without a higher priority, change nothing.
    all.raise(other)
    all.raise(raised)
    #expect(all.count == 4)
    #expect(drain(&all) == ["high", "raised", "normal", "low"])
  }

  @Test func `an action raised twice leaves once, also if it waits again after its first attempt`() {
    let (raised, low) = (Item("raised", .veryLow), Item("low", .veryLow))
    var all = backlog([raised, low, Item("normal")])
    for priority in [ActionPriority.low, .high] {
      raised.priority = priority
      all.raise(raised)
    }
    low.priority = .low
    all.raise(low)
    low.withdraw()
    all.didWithdraw()
    #expect(all.count == 3)
    #expect(all.pending.map(\.name) == ["raised", "normal"])
    let first = all.popFirst()
    #expect(first === raised)
    all.append(raised)
    let next = all.firstPending()
    #expect(next?.action === raised)
    #expect(drain(&all) == ["raised", "normal", "low"])
  }

  @Test func `a hundred thousand waiting actions are raised one by one, and leave in the order of the raises`() {
    let items = (0..<100_000).map { Item("\($0)", .low) }
    var all = backlog(items)
    // The last action first: a search from the front would pass over all other actions.
    for item in items.reversed() {
      item.priority = .high
      all.raise(item)
    }
    #expect(all.count == items.count)
    #expect(drain(&all) == items.reversed().map(\.name))
  }

  @Test(arguments: [(70, 65), (128, 65), (130, 66), (200, 101)])
  func `withdrawn actions are removed once they are more than 64, and more than half of all`(count: Int, limit: Int) {
    let items = (0..<count).map { Item("\($0)") }
    var all = backlog(items)
    for item in items.prefix(limit - 1) {
      item.withdraw()
      all.didWithdraw()
    }
    #expect(all.count == count && all.pending.count == count - limit + 1)
    items[limit - 1].withdraw()
    all.didWithdraw()
    #expect(all.count == count - limit)
    #expect(drain(&all) == (limit..<count).map { "\($0)" })
  }

  // MARK: Concurrency limits

  private let uploads = ConcurrencyLimit("uploads", 1)
  private let downloads = ConcurrencyLimit("downloads", 1)

  private func waiting(_ items: [Item]) -> WaitingActions<Item> {
    var waiting = WaitingActions<Item>()
    for (arrival, item) in items.enumerated() { waiting.append(item, arrival: arrival) }
    return waiting
  }

  /// The name of the next action to begin while some limits have a free slot.
  private func next(_ waiting: inout WaitingActions<Item>, free: [ConcurrencyLimit]) -> String? {
    waiting.popFirst { item in free.contains { $0 == item.limit } }?.name
  }

  @Test func `an action without a slot lets later actions begin, and begins first once its limit has a free slot`() {
    var all = waiting([
      Item("upload", limit: uploads), Item("plain"), Item("important download", .high, limit: downloads),
      Item("last upload", limit: uploads), Item("last"),
    ])
    #expect(next(&all, free: []) == "plain")
    #expect(next(&all, free: [uploads]) == "upload")
    #expect(next(&all, free: [uploads, downloads]) == "important download")
    #expect(next(&all, free: [uploads, downloads]) == "last upload")
    #expect(next(&all, free: []) == "last")
    #expect(next(&all, free: [uploads, downloads]) == nil)
  }

  @Test func `a withdrawn action gets no slot, and a raised one gets the next`() {
    let items = ["a", "b", "c"].map { Item($0, limit: uploads) }
    var all = waiting(items)
    items[0].withdraw()
    all.didWithdraw(items[0])
    items[2].priority = .high
    all.raise(items[2], arrival: 3)
    #expect(all.pending.count == 2)
    #expect(next(&all, free: [uploads]) == "c")
    #expect(next(&all, free: [uploads]) == "b")
  }

  @Test func `an action is overdue after many actions have begun in its place`() {
    let first = Item("first", limit: uploads)
    var all = waiting([first] + (0..<20).map { Item("\($0)") })
    for _ in 0..<15 { _ = next(&all, free: []) }
    #expect(!all.isOverdue(limit: uploads.name))
    _ = next(&all, free: [])
    #expect(all.isOverdue(limit: uploads.name))
    all.forgetOvertaking()
    #expect(!all.isOverdue(limit: uploads.name))
    #expect(next(&all, free: [uploads]) == "first")
  }

  @Test func `an action that is the first of its limit again is overtaken once by each later action`() {
    let items = ["first", "raised"].map { Item($0, limit: uploads) }
    var all = waiting(items + (0..<20).map { Item("\($0)") })
    items[1].priority = .high
    all.raise(items[1], arrival: 22)
    #expect(next(&all, free: [uploads]) == "raised")
    for _ in 0..<15 { _ = next(&all, free: []) }
    #expect(!all.isOverdue(limit: uploads.name))
    _ = next(&all, free: [])
    #expect(all.isOverdue(limit: uploads.name))
  }

  @Test func `the cost of the next action does not grow with the number of limits`() {
    let count = 1000
    let items = (0..<count).map { Item("\($0)", limit: ConcurrencyLimit("\($0)", 1)) }
    var all = waiting(items)
    for item in items {
      let next = all.popFirst { _ in true }
      #expect(next === item)
    }
    #expect(items.reduce(0) { $0 + $1.readCount } < 10 * count)
  }

  @Test func `random actions of several limits leave by priority, then in the order of their arrival`() {
    var seed: UInt64 = 1
    func random(below bound: Int) -> Int {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(seed >> 33) % bound
    }
    let limits = (0..<5).map { ConcurrencyLimit("\($0)", 1) }
    var all = WaitingActions<Item>()
    var model: [(item: Item, priority: Int, arrival: Int)] = []
    for arrival in 0..<5000 {
      let index = model.isEmpty ? nil : random(below: model.count)
      switch random(below: 8) {
      case 0: if let index { withdraw(model.remove(at: index).item, from: &all) }
      case 1:
        guard let index, model[index].item.priority != .veryHigh else { continue }
        let item = model[index].item
        item.priority = .veryHigh
        all.raise(item, arrival: arrival)
        model[index] = (item, ActionPriority.veryHigh.rawValue, arrival)
      case 2, 3, 4:
        let free = limits.filter { _ in random(below: 2) == 0 }
        func isFree(_ item: Item) -> Bool { item.limit.map { free.contains($0) } ?? true }
        let expected = model.indices
          .filter { index in isFree(model[index].item) }
          .min { (-model[$0].priority, model[$0].arrival) < (-model[$1].priority, model[$1].arrival) }
        var found: Item?
        // An action without a limit may be withdrawn.
        repeat { found = all.popFirst(acquiresSlot: isFree) } while found?.isPending == false
        let expectedItem = expected.map { model[$0].item }
        #expect(found === expectedItem)
        if let expected { model.remove(at: expected) }
      default:
        let priority = ActionPriority.allCases[random(below: ActionPriority.allCases.count)]
        let limit = random(below: limits.count + 1)
        let item = Item("\(arrival)", priority, limit: limit < limits.count ? limits[limit] : nil)
        all.append(item, arrival: arrival)
        model.append((item, priority.rawValue, arrival))
      }
    }
  }

  private func withdraw(_ item: Item, from all: inout WaitingActions<Item>) {
    item.withdraw()
    all.didWithdraw(item)
  }

  @Test func `the maximum of a limit is that of the latest first attempt, until no action has the limit`() {
    let groups = ConcurrencyGroups<Item>()
    // The queue starts no action.
    let queue = ActionQueue<Item>(name: "test", width: 1, isSuspended: true, groups: groups)
    let (one, three) = (ConcurrencyLimit("uploads", 1), ConcurrencyLimit("uploads", 3))
    let items = ["a", "b", "c"].map { Item($0) }
    func ask(_ index: Int, _ limit: ConcurrencyLimit, isFirst: Bool) -> Bool {
      _ = groups.ask(for: limit, items[index], of: queue, asksForFirstTime: isFirst)
      return groups.acquireSlot(of: limit, for: items[index], of: queue)
    }
    func releaseCount(_ index: Int, _ limit: ConcurrencyLimit, isFirst: Bool) -> Int {
      groups.holders(of: limit, for: items[index], asksForFirstTime: isFirst).releaseCount
    }
    #expect(ask(0, one, isFirst: true))
    #expect(releaseCount(0, one, isFirst: false) == 0, "It has a slot.")
    #expect(releaseCount(1, three, isFirst: true) == 0)
    #expect(releaseCount(1, three, isFirst: false) == 1)
    // A further attempt of an action changes no maximum.
    #expect(!ask(1, three, isFirst: false))
    #expect(ask(2, three, isFirst: true))
    #expect(groups.acquireSlot(of: three, for: items[1], of: queue))
    let other = Item("d")
    #expect(groups.holders(of: one, for: other, asksForFirstTime: true).releaseCount == 3)
    for item in items { groups.releaseSlot(of: three, by: item, of: queue) }
    #expect(ask(0, one, isFirst: false))
    #expect(!ask(1, one, isFirst: false))
  }
}
