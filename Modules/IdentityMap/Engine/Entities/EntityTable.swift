/// The entities of one type.
@usableFromInline
final class EntityTable<T: Identifiable & Sendable>: AnyEntityTable {
  @usableFromInline unowned(unsafe) let core: StoreCore
  /// The capabilities of the type, found at run time.
  @usableFromInline let traits = TypeTraits<T>.of()
  @exclusivity(unchecked) @usableFromInline var index = IdentityIndex<EntityNode<T>>()
  var policy = TypePolicy<T>() {
    didSet { updateStoresPlainLeaves() }
  }
  /// The states of leaves before the running transaction.
  @usableFromInline let leafLog = LeafUndoLog<T>()
  /// Whether the time of writes is recorded.
  @exclusivity(unchecked) var tracksTime = false
  /// The key paths of the latest value. Most values of a type have the same key paths.
  @exclusivity(unchecked) private var plan: NestingPlan<T>?
  var queries: [QueryNode<T>] = [] {
    didSet { updateStoresPlainLeaves() }
  }
  /// The candidates that the queries evaluate at the end of the transaction.
  @exclusivity(unchecked) var queryCandidates: [QueryNode<T>.Candidate] = []
  /// The observed identifiers, with and without entities.
  var observedIdentifiers: [T.ID: ObservedIdentifierNode<T>] = [:] {
    didSet { updateStoresPlainLeaves() }
  }
  /// The stamps of evicted entities, when the policy remembers them.
  @exclusivity(unchecked) var stampMemory: StampMemory<T.ID>?
  /// The entities that the lifetime of the type retains; `nil` for ``Lifetime/whileUsed``.
  @exclusivity(unchecked) var retention: RetentionList?

  @usableFromInline init(core: StoreCore) {
    self.core = core
    super.init()
    updateStoresPlainLeaves()
  }

  deinit {
    index.destroy()
  }

  /// Whether the entities are leaves and the policy, queries and observed identifiers need nothing but the value.
  @exclusivity(unchecked) @usableFromInline private(set) var storesPlainLeaves = false

  private func updateStoresPlainLeaves() {
    storesPlainLeaves =
      !traits.isAggregate && policy.merge == nil && policy.areEqual == nil && policy.staleAfter == nil
      && policy.stampsOutlive == nil && policy.lifetime == .whileUsed && queries.isEmpty && observedIdentifiers.isEmpty
  }

  /// Returns the node of an identifier, whether the entity exists or not. It is not retained: the table owns it.
  @inlinable @inline(__always)
  func unretainedNode(_ id: T.ID, hash: UInt32) -> Unmanaged<EntityNode<T>>? {
    index.find(hash) { $0.value.id == id }
  }

  @inlinable @inline(__always)
  func anyNode(_ id: T.ID, hash: UInt32) -> EntityNode<T>? {
    unretainedNode(id, hash: hash)?.takeUnretainedValue()
  }

  /// Returns the node of an identifier, whether the entity exists or not.
  @inlinable @inline(__always)
  func anyNode(_ id: T.ID) -> EntityNode<T>? {
    anyNode(id, hash: index.hash(id))
  }

  /// Returns the node of a present entity. It is not retained: the table owns it.
  @inlinable @inline(__always)
  func unretainedPresentNode(_ id: T.ID) -> Unmanaged<EntityNode<T>>? {
    guard let node = unretainedNode(id, hash: index.hash(id)),
      !node._withUnsafeGuaranteedRef({ $0.flags.contains(.absent) })
    else { return nil }
    return node
  }

  /// Returns the node of a present entity.
  @inlinable func node(_ id: T.ID) -> EntityNode<T>? {
    guard let node = anyNode(id), !node.flags.contains(.absent) else { return nil }
    return node
  }

  /// Returns the node of a present or tentatively removed entity.
  func knownNode(_ id: T.ID) -> EntityNode<T>? { node(id) ?? tentativelyRemovedNode(id) }

  func removeFromIndex(_ node: EntityNode<T>) {
    let id = node.value.id
    if let stampMemory, !node.stamp.isNaN { stampMemory.remember(node.stamp, of: id, now: core.now()) }
    index.remove(node, hash: index.hash(id))
    if !node.isAbsent { didRemove(node, id: id) }
  }

  /// Notifies queries and observers of the identifier that the entity is absent.
  /// - Parameter isTentative: Whether the removal is tentative. Then a lifetime still retains the node.
  func didRemove(_ node: EntityNode<T>, id: T.ID, isTentative: Bool = false) {
    if !storesPlainLeaves {
      if !queries.isEmpty { addQueryCandidate(node, isChanged: false) }
      if !observedIdentifiers.isEmpty { observedIdentifiers[id]?.entity = nil }
      if !isTentative {
        retention?.release(node)
        // A rollback removes an entity as if it had never existed.
        if let stampMemory, !core.undo.isRollingBack { stampMemory.renew(id, now: core.now()) }
      }
    }
    if core.instrumentation.changeLog.isKept {
      core.instrumentation.changeLog.note(.removed, T.self, id, origin: core.instrumentation.origin)
    }
  }

  /// Connects the node of a restored entity with the type's queries and with the observers of the identifier. Called
  /// by a rollback.
  func didRestore(_ node: EntityNode<T>) {
    if !queries.isEmpty { node.flags.insert(.queried) }
    if !observedIdentifiers.isEmpty { observedIdentifiers[node.value.id]?.entity = node }
  }

  /// The key paths to the nested entities of a value; `nil` without any.
  func plan(for value: T) -> NestingPlan<T>? {
    guard let paths = traits.paths(of: value), !paths.isEmpty else { return nil }
    if let plan, plan.isMade(of: paths) { return plan }
    let made = NestingPlan(paths)
    plan = made
    if made.mayRefuse { core.graph.mayRefuse = true }
    return made
  }

  /// Whether observers need not be notified of the second value.
  func areEqual(_ first: T, _ second: T) -> Bool {
    if let areEqual = policy.areEqual { return areEqual(first, second) }
    return traits.areEqual(first, second)
  }

  // MARK: Operations on any type

  @usableFromInline override func updateQueries() {
    guard !queryCandidates.isEmpty else { return }
    let candidates = queryCandidates
    queryCandidates = []
    for query in queries { query.update(candidates) }
  }

  @usableFromInline override func evictExpired() {
    while let retention, retention.isOverLimit(now: core.now) { retention.releaseFirst() }
    stampMemory?.forget(until: core.now())
  }

  @usableFromInline override func commitQueries() {
    for query in queries { query.isNew = false }
  }

  @usableFromInline override func rerunNewQueries() {
    for query in queries where query.isNew { query.rerun(over: presentNodes) }
  }

  /// The nodes of all present entities.
  var presentNodes: [EntityNode<T>] {
    var nodes: [EntityNode<T>] = []
    index.forEach { if !$0.isAbsent { nodes.append($0) } }
    return nodes
  }

  @usableFromInline override func removeAll() {
    var nodes: [EntityNode<T>] = []
    // Tentatively removed entities become finally removed.
    index.forEach { if !$0.isRemoved { nodes.append($0) } }
    core.removeFromParents(nodes)
    for node in nodes where !node.isRemoved { node.removeEverywhere() }
  }

  @usableFromInline override func clear() {
    removeAll()
    var nodes: [EntityNode<T>] = []
    index.forEach { nodes.append($0) }
    for node in nodes {
      core.record(node)
      // So that the eviction of the node does not remember the stamp.
      node.stamp = .nan
    }
    guard let former = stampMemory else { return }
    core.record { [self] in stampMemory = former }
    stampMemory = StampMemory(time: former.time)
  }

  @usableFromInline override func forEachNode(_ body: (Node) -> Void) {
    index.forEach(body)
  }
}
