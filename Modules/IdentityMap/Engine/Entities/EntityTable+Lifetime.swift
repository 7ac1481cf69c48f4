/// The policy of the type, and the entities that its lifetime retains.
extension EntityTable {
  /// Sets the policy of the type, for stored entities too.
  func apply(_ policy: TypePolicy<T>) {
    let isOther = policy.lifetime != self.policy.lifetime
    self.policy = policy
    let trackedTime = tracksTime
    tracksTime = policy.staleAfter != nil
    if case .timeToLive = policy.lifetime { tracksTime = true }
    // Writes leave no time from now on, so a recorded time would not be that of the last write.
    if trackedTime, !tracksTime { index.forEach { $0.relations?.writtenAt = nil } }
    if policy.stampsOutlive != stampMemory?.time { stampMemory = policy.stampsOutlive.map { StampMemory(time: $0) } }
    if isOther { change(to: policy.lifetime) } else { updateCosts() }
  }

  /// Determines the costs of the retained entities again: the policy may have another closure for them.
  private func updateCosts() {
    guard case .memory = retention?.lifetime else { return }
    // Copied, because the closure may use the store and so change the index.
    var nodes: [EntityNode<T>] = []
    index.forEach { nodes.append($0) }
    for node in nodes {
      let cost = cost(of: node.value)
      // Read after the closure, which may have used the store.
      retention?.setCost(of: node, to: cost)
    }
    guard let retention, retention.isOverLimit(now: core.now) else { return }
    core.tables.overdue.append(self)
    core.pending.requireCommit()
  }

  /// Releases the entities that the former lifetime retains, and has the new one retain all known entities.
  private func change(to lifetime: Lifetime) {
    index.forEach { retention?.release($0) }
    retention = lifetime == .whileUsed ? nil : RetentionList(lifetime)
    guard retention != nil else { return }
    // Copied, because the policy's closure for costs may use the store and so change the index.
    var nodes: [EntityNode<T>] = []
    index.forEach { if !$0.isRemoved { nodes.append($0) } }
    for node in nodes { retain(node) }
  }

  /// Records the time of a write, and makes the entity the most recently used.
  func noteWrite(of node: EntityNode<T>) {
    if node.flags.contains(.invalidated) { node.flags.remove(.invalidated) }
    if tracksTime { node.makeRelations().writtenAt = core.now() }
    if retention != nil { retain(node) }
  }

  /// Evicts expired entities at the beginning of an operation that looks for entities.
  func prepareSearch() {
    guard let retention, case .timeToLive = retention.lifetime, retention.isOverLimit(now: core.now) else { return }
    evictExpired()
    // Within another operation, new nodes may have no reason to be retained yet.
    if core.lock.depth == 1 { core.evictUnreferenced() }
  }

  /// Returns the node of a present entity at the beginning of an operation; evicts expired entities first.
  @usableFromInline func search(_ id: T.ID) -> EntityNode<T>? {
    guard retention != nil else { return node(id) }
    prepareSearch()
    guard let node = node(id), !isExpired(node) else { return nil }
    return node
  }

  /// Whether a search changes no state: no lifetime depends on it.
  var searchHasNoEffect: Bool {
    guard let retention else { return true }
    return retention.lifetime == .pinned
  }

  /// Whether an entity has expired and waits for the end of the transaction to be evicted.
  func isExpired(_ node: EntityNode<T>) -> Bool {
    guard let retention, case .timeToLive = retention.lifetime else { return false }
    // The list has released the entity at its deadline, and nothing else retains it.
    return !node.isRetained && !node.hasParents
  }

  /// Removes an expired entity whose eviction waits for the end of the operation, before a value of it is stored:
  /// neither its stamp nor its value counts any more.
  func removeIfExpired(_ node: EntityNode<T>) {
    guard let retention, case .timeToLive = retention.lifetime else { return }
    if retention.isOverLimit(now: core.now) { evictExpired() }
    guard !node.isAbsent, isExpired(node) else { return }
    core.record(node)
    node.setChildren([])
    node.becomeAbsent()
  }

  /// Makes a found entity the most recently used. A time to live is not prolonged.
  func noteUse(of node: EntityNode<T>) {
    guard let retention else { return }
    if case .timeToLive = retention.lifetime { return }
    retain(node)
  }

  /// Has the lifetime retain an entity as the most recently used.
  func retain(_ node: EntityNode<T>) {
    let cost = if case .memory = retention?.lifetime { cost(of: node.value) } else { 0 }
    // The closure of the policy may have used the store.
    guard let retention, !node.isRemoved, !node.flags.contains(.evicted) else { return }
    retention.retain(node, cost: cost, now: tracksTime ? core.now() : .zero)
    guard retention.isOverLimit(now: core.now) else { return }
    core.tables.overdue.append(self)
    core.pending.requireCommit()
  }

  /// The cost of a value by the policy, within a range in which the sum cannot overflow.
  private func cost(of value: T) -> Int {
    min(max(0, policy.cost(value)), 1 << 40)
  }

  /// Restores whether the lifetime retains an entity, and its deadline. Another lifetime, set since, retains the entity
  /// as the most recently used.
  func restoreRetention(of node: EntityNode<T>, _ former: (cost: Int, deadline: Duration?)?, in list: RetentionList?) {
    guard let retention else { return }
    guard retention === list else { return retain(node) }
    guard let former else { return retention.release(node) }
    retention.restore(node, cost: former.cost, deadline: former.deadline)
  }
}
