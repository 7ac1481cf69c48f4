/// The links, observers and other state that many leaves do without.
@usableFromInline
final class Relations {
  /// The children in the order of their occurrences in the value, repetitions included.
  @exclusivity(unchecked) var children = LinkBuffer<ChildLink>()
  /// The nodes whose values contain this one's.
  @exclusivity(unchecked) var parents = LinkBuffer<ParentLink>()
  /// The height of the node: greater than the heights of all children, except those that close a cycle. A leaf has 0.
  @exclusivity(unchecked) var height: Int32 = 0
  /// The number of reasons inside the store to retain the node, besides its parents: the content of an alias, or the
  /// lifetime of an entity's type.
  @exclusivity(unchecked) var internalRetainCount: Int32 = 0
  /// The number of children that close a cycle.
  @exclusivity(unchecked) var cycleLinks: Int32 = 0
  /// Whether the value is dirty without observers having been notified; see ``Node/isSilentlyDirty``.
  @exclusivity(unchecked) var isSilentlyDirty = false
  /// The key paths to the children; a `NestingPlan` of the value's type.
  @exclusivity(unchecked) var plan: AnyNestingPlan?
  /// The state that few nodes have; `nil` until the first use.
  @exclusivity(unchecked) private var rare: UncommonState?

  deinit {
    children.deallocate()
    parents.deallocate()
  }

  private final class UncommonState {
    var observerGroups: [AnyObserverGroup] = []
    var overlay: AnyObject?
    var lruEntry: LRUEntry<Node>?
    var writtenAt: Duration?
  }

  private func makeRare() -> UncommonState {
    if let rare { return rare }
    let made = UncommonState()
    rare = made
    return made
  }
}

extension Relations {
  /// The observers, by delivery queue.
  var observerGroups: [AnyObserverGroup] {
    get { rare?.observerGroups ?? [] }
    // In place: the addition of an observer must not copy the groups of the others.
    _modify { yield &makeRare().observerGroups }
  }

  /// The group of observers with a delivery queue; `nil` if none has the queue. A queue of one observer is never
  /// searched for, and the groups of shared queues come first.
  func observerGroup(of queue: DeliveryQueue) -> AnyObserverGroup? {
    queue.isShared ? observerGroups.prefix(DeliveryQueues.count).first { $0.queue === queue } : nil
  }

  /// Adds a group of observers.
  func add(_ group: AnyObserverGroup) {
    let sharedCount = sharedGroupCount
    group.index = observerGroups.count
    observerGroups.append(group)
    if group.queue.isShared { swapGroups(group.index, sharedCount) }
  }

  /// Removes a group of observers. The cost does not grow with the number of the others.
  func remove(_ group: AnyObserverGroup) {
    if group.queue.isShared { swapGroups(group.index, sharedGroupCount - 1) }
    swapGroups(group.index, observerGroups.count - 1)
    observerGroups.removeLast()
  }

  private var sharedGroupCount: Int {
    observerGroups.prefix(DeliveryQueues.count).count { $0.queue.isShared }
  }

  private func swapGroups(_ index: Int, _ other: Int) {
    guard index != other else { return }
    observerGroups.swapAt(index, other)
    observerGroups[index].index = index
    observerGroups[other].index = other
  }

  var hasObservers: Bool {
    guard let rare else { return false }
    return !rare.observerGroups.isEmpty
  }

  /// The tentative changes; an `EntityOverlay` or `AliasOverlay` of the value's type.
  var overlay: AnyObject? {
    get { rare?.overlay }
    set { if rare != nil || newValue != nil { makeRare().overlay = newValue } }
  }

  /// The node's entry in the order of eviction of its type.
  var lruEntry: LRUEntry<Node>? {
    get { rare?.lruEntry }
    set { if rare != nil || newValue != nil { makeRare().lruEntry = newValue } }
  }

  /// The time of the last write, by the store's clock.
  var writtenAt: Duration? {
    get { rare?.writtenAt }
    set { if rare != nil || newValue != nil { makeRare().writtenAt = newValue } }
  }
}

/// The link from a parent to a child.
@usableFromInline
struct ChildLink: BitwiseCopyable {
  @usableFromInline unowned(unsafe) let child: Node
  /// The index of the link back among the child's parents.
  var parentIndex: Int32
  /// The version of the child's value in the parent's value.
  @usableFromInline var writtenVersion: UInt32
  /// Whether the link closes a cycle: the child's value is not written into the parent's value, but into the copies
  /// that readers of the parent get.
  @usableFromInline let closesCycle: Bool
}

extension ChildLink {
  /// Passes the child to a closure without retaining it.
  func withChild<R>(_ body: (Node) -> R) -> R {
    Unmanaged.passUnretained(child)._withUnsafeGuaranteedRef(body)
  }
}

/// The link from a child to a parent.
struct ParentLink {
  unowned(unsafe) let parent: Node
  /// The index of the link among the parent's children.
  var childIndex: Int32
  let closesCycle: Bool
}

extension ParentLink {
  /// Passes the parent to a closure without retaining it.
  func withParent(_ body: (Node) -> Void) {
    Unmanaged.passUnretained(parent)._withUnsafeGuaranteedRef(body)
  }
}
