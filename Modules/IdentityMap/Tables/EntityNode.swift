/// The node of an entity.
@usableFromInline
final class EntityNode<T: Identifiable & Sendable>: ValueNode<T> {
  /// The value as the entities in it were when it was made; see the flags.
  @exclusivity(unchecked) @usableFromInline var value: T

  @inlinable init(_ value: T, core: StoreCore) {
    self.value = value
    super.init(core: core)
  }

  @usableFromInline override func read() -> T {
    if flags.contains(.dirty) { core.refresh(self) }
    guard let relations, relations.backLinks > 0, let plan else { return value }
    for link in relations.children where link.isBack { core.refresh(link.child) }
    var whole = value
    relations.walk(.closeCircles) { plan.refresh(&whole, along: &$0) }
    return whole
  }

  /// The value, up to date but for what closes a circle.
  func built() -> T {
    if flags.contains(.dirty) { core.refresh(self) }
    return value
  }

  /// Whether there is something in the value that closes a circle.
  var closesCircles: Bool {
    guard let relations else { return false }
    return relations.backLinks > 0
  }

  /// What closes a circle in the value.
  var closedCircles: [Node] {
    closesCircles ? relations?.children.filter(\.isBack).map(\.child) ?? [] : []
  }

  @usableFromInline override func rebuild() {
    guard let relations, let plan = relations.plan else { return }
    relations.walk(.refresh) { cursor in
      withUnsafeMutablePointer(to: &value) { plan.refresh(UnsafeMutableRawPointer($0), &cursor) }
    }
  }

  @usableFromInline override func remove(_ child: Node) -> Bool {
    guard let relations, let plan else { return false }
    core.refresh(self)
    core.record(self)
    var reduced = value
    let isWithout = relations.walk(.remove, removing: child) { plan.remove(from: &reduced, along: &$0) }
    guard !isWithout, reduced.id == value.id else {
      return !core.table(of: T.self).fallBack(self, without: child)
    }
    value = reduced
    // Not those that are left in their former order: a dictionary can have got another one.
    setChildren(core.table(of: T.self).contents(of: reduced))
    version &+= 1
    core.spread(from: self)
    return false
  }

  @usableFromInline override func leaveTable() {
    core.table(of: T.self).forget(self)
  }

  @usableFromInline override func tellQueries() {
    core.table(of: T.self).noteForQueries(self, isChanged: true)
  }

  @usableFromInline override func snapshot() -> () -> Void {
    let (value, stamp, wasStamped) = (value, stamp, flags.contains(.stamped))
    let flags = flags.intersection([.vacant, .hidden, .invalidated])
    let children = relations?.children.map(\.child) ?? []
    let (plan, overlay, writtenAt) = (relations?.plan, relations?.overlay, relations?.writtenAt)
    let (tenure, tenures) = (relations?.tenure.map { (cost: $0.cost, end: $0.end) }, core.table(of: T.self).tenures)
    return { [self] in
      self.value = value
      self.stamp = stamp
      if !wasStamped { self.flags.remove(.stamped) }
      self.flags.remove([.vacant, .invalidated])
      self.flags.formUnion(flags.intersection([.vacant, .invalidated]))
      setHidden(flags.contains(.hidden))
      if let relations {
        relations.plan = plan
        relations.overlay = overlay
        if overlay == nil { self.flags.remove(.overlaid) } else { self.flags.insert(.overlaid) }
        relations.writtenAt = writtenAt
      }
      setChildren(children)
      // The children's values may be others than those that were written.
      for index in children.indices { relations?.children[index].seen = children[index].version &- 1 }
      if !children.isEmpty { self.flags.insert(.dirty) }
      version &+= 1
      core.spread(from: self)
      core.loosen(self)
      let table = core.table(of: T.self)
      if isVacant { table.isGone(self, id: value.id, forNow: flags.contains(.hidden)) } else { table.isBack(self) }
      table.restoreTenure(of: self, tenure, in: tenures)
    }
  }

  /// Makes a leaf what it was, whatever has become of it in the meantime.
  func putBack(_ value: T, _ stamp: Stamp) {
    self.value = value
    self.stamp = stamp
    flags.remove(.stamped)
    relations?.overlay = nil
    flags.remove([.overlaid, .invalidated])
    version &+= 1
    core.spread(from: self)
    guard isVacant else { return }
    flags.remove(.vacant)
    setHidden(false)
    let table = core.table(of: T.self)
    table.isBack(self)
    // The type may have got a lifetime in the meantime.
    if table.tenures != nil { table.keep(self) }
  }

  @usableFromInline override var label: String { "\(T.self) \(value.id)" }

  /// The places of the children in the value.
  var plan: Plan<T>? {
    relations?.plan.map { unsafeDowncast($0, to: Plan<T>.self) }
  }
}
