extension EntityTable {
  func adopt(_ policy: TypePolicy<T>) {
    let isOther = policy.lifetime != self.policy.lifetime
    self.policy = policy
    tracksTime = policy.staleAfter != nil
    if case .timeToLive = policy.lifetime { tracksTime = true }
    if policy.stampsOutlive != stampMemory?.time { stampMemory = policy.stampsOutlive.map { StampMemory(time: $0) } }
    if isOther { change(to: policy.lifetime) }
  }

  private func change(to lifetime: Lifetime) {
    index.forEach { tenures?.end(of: $0) }
    tenures = lifetime == .whileUsed ? nil : TenureList(lifetime)
    guard tenures != nil else { return }
    index.forEach { if !$0.isVacant { keep($0) } }
  }

  /// An entity was written.
  func noteWrite(of node: EntityNode<T>) {
    if node.flags.contains(.invalidated) { node.flags.remove(.invalidated) }
    if tracksTime { node.relate().writtenAt = core.now() }
    if tenures != nil { keep(node) }
  }

  /// An entity was looked for: what is over its time is not there any more.
  func noteSearch() {
    guard let tenures, tenures.isOver(now: core.now) else { return }
    sweep()
    core.dropUnheld()
  }

  /// An entity was found, which makes it the one used last, but no younger.
  func noteUse(of node: EntityNode<T>) {
    guard let tenures else { return }
    if case .timeToLive = tenures.lifetime { return }
    keep(node)
  }

  private func keep(_ node: EntityNode<T>) {
    guard let tenures else { return }
    let cost = if case .memory = tenures.lifetime { policy.cost(node.value) } else { 0 }
    tenures.keep(node, cost: cost, now: tracksTime ? core.now() : .zero)
    guard tenures.isOver(now: core.now) else { return }
    core.tables.overdue.append(self)
    core.hasWork = true
  }

  // MARK: Staleness

  func age(of node: EntityNode<T>) -> Duration? {
    node.relations?.writtenAt.map { core.now() - $0 }
  }

  func isStale(_ node: EntityNode<T>, after time: Duration?) -> Bool {
    if node.flags.contains(.invalidated) { return true }
    guard let time = time ?? policy.staleAfter, let age = age(of: node) else { return false }
    return age >= time
  }
}

extension EntityStore {
  /// Whether an entity should be fetched anew: there is none, it was invalidated, or it was written longer ago than a
  /// time. The time of writes is known of types whose policy says `staleAfter` or a time to live.
  /// - Parameter time: That of the policy by default.
  public func isStale<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID, after time: Duration? = nil) -> Bool {
    core.exclusively {
      let table = core.table(of: type)
      return table.node(id).map { table.isStale($0, after: time) } ?? true
    }
  }

  /// How long ago an entity was written, as far as it is known; see ``isStale(_:id:after:)``.
  public func age<T: Identifiable & Sendable>(of type: T.Type, id: T.ID) -> Duration? {
    core.exclusively {
      let table = core.table(of: type)
      return table.node(id).flatMap { table.age(of: $0) }
    }
  }

  /// Makes an entity stale until it is written again. Its value stays, and nobody is told.
  public func invalidate<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) {
    core.exclusively { _ = core.table(of: type).node(id)?.flags.insert(.invalidated) }
  }

  /// Makes all entities of a type stale until they are written again.
  public func invalidateAll<T: Identifiable & Sendable>(_ type: T.Type) {
    core.exclusively { core.table(of: type).index.forEach { $0.flags.insert(.invalidated) } }
  }
}
