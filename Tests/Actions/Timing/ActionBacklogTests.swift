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
    private let content: Mutex<(priority: ActionPriority, isPending: Bool)>

    init(_ name: String, _ priority: ActionPriority = .normal) {
      self.name = name
      content = Mutex((priority, true))
    }

    var priority: ActionPriority {
      get { content.withLock { $0.priority } }
      set { content.withLock { $0.priority = newValue } }
    }
    var isPending: Bool { content.withLock { $0.isPending } }

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

  private let two = ConcurrencyLimit("uploads", 2)

  private func names(_ items: [Item]) -> [String] { items.map(\.name).sorted() }

  @Test func `waiting actions get the released slots of their limit by priority`() {
    var groups = ConcurrencyGroups<Item>()
    let (a, b, c, d) = (Item("a"), Item("b"), Item("c"), Item("d", .high))
    #expect(names(groups.acquireSlot(of: two, for: a, asksForFirstTime: true)) == ["a"])
    #expect(names(groups.acquireSlot(of: two, for: b, asksForFirstTime: true)) == ["b"])
    #expect(names(groups.acquireSlot(of: two, for: c, asksForFirstTime: true)) == [])
    #expect(names(groups.acquireSlot(of: two, for: d, asksForFirstTime: true)) == [])
    #expect(names(groups.holders(of: two, for: c, asksForFirstTime: false)) == ["a", "b"])
    #expect(names(groups.holders(of: two, for: a, asksForFirstTime: false)) == [], "It has a slot.")
    #expect(names(groups.releaseSlot(of: two, by: a)) == ["d"])
    #expect(names(groups.releaseSlot(of: two, by: b)) == ["c"])
    #expect(names(groups.releaseSlot(of: two, by: c)) == [])
    #expect(names(groups.releaseSlot(of: two, by: d)) == [])
  }

  @Test func `limits with different names do not wait for each other`() {
    var groups = ConcurrencyGroups<Item>()
    for name in ["x", "y"] {
      let acquired = groups.acquireSlot(of: ConcurrencyLimit(name, 1), for: Item(name), asksForFirstTime: true)
      #expect(names(acquired) == [name])
    }
  }

  @Test func `the maximum of a limit is that of the latest submission, until no action has the limit`() {
    var groups = ConcurrencyGroups<Item>()
    let (one, three) = (ConcurrencyLimit("uploads", 1), ConcurrencyLimit("uploads", 3))
    let (a, b, c) = (Item("a"), Item("b"), Item("c"))
    #expect(names(groups.acquireSlot(of: one, for: a, asksForFirstTime: true)) == ["a"])
    #expect(names(groups.holders(of: three, for: b, asksForFirstTime: true)) == [])
    #expect(names(groups.holders(of: three, for: b, asksForFirstTime: false)) == ["a"])
    // A further attempt of an action changes no maximum.
    #expect(names(groups.acquireSlot(of: three, for: b, asksForFirstTime: false)) == [])
    #expect(names(groups.acquireSlot(of: three, for: c, asksForFirstTime: true)) == ["b", "c"])
    for item in [a, b, c] { #expect(names(groups.releaseSlot(of: three, by: item)) == []) }
    #expect(names(groups.acquireSlot(of: one, for: a, asksForFirstTime: false)) == ["a"])
    #expect(names(groups.acquireSlot(of: one, for: b, asksForFirstTime: false)) == [])
  }

  @Test func `a withdrawn action gets no slot, and a raised one gets the next`() {
    var groups = ConcurrencyGroups<Item>()
    let one = ConcurrencyLimit("uploads", 1)
    let (a, b, c, d) = (Item("a"), Item("b"), Item("c"), Item("d"))
    for item in [a, b, c, d] { _ = groups.acquireSlot(of: one, for: item, asksForFirstTime: true) }
    b.withdraw()
    #expect(names(groups.releaseSlot(of: one, by: b)) == [])
    d.priority = .high
    groups.raise(d, waitingFor: one)
    #expect(names(groups.releaseSlot(of: one, by: a)) == ["d"])
    #expect(names(groups.releaseSlot(of: one, by: d)) == ["c"])
  }
}
