extension EntityNode {
  /// What a rollback puts back, beside the value and the stamp.
  private struct State {
    let flags: NodeFlags
    let children: [Node]
    let plan: AnyNestingPlan?
    let overlay: AnyObject?
    let writtenAt: Duration?
    let tenure: (cost: Int, end: Duration?)?
    let tenures: LRUList?
  }

  private var state: State {
    State(
      flags: flags.intersection([.vacant, .hidden, .invalidated, .stamped]),
      children: relations?.children.map(\.child) ?? [], plan: relations?.plan, overlay: relations?.overlay,
      writtenAt: relations?.writtenAt, tenure: relations?.tenure.map { ($0.cost, $0.end) },
      tenures: core.table(of: T.self).tenures)
  }

  /// A closure that puts back what the node is now.
  func restoration() -> () -> Void {
    let (value, stamp, state) = (value, stamp, state)
    return { [self] in
      core.letGoLater(exchange(for: value))
      self.stamp = stamp
      restore(state)
    }
  }

  private func restore(_ state: State) {
    restoreFlags(state.flags)
    restoreRelations(state)
    relink(to: state.children)
    advance()
    core.spread(from: self)
    core.loosen(self)
    let table = core.table(of: T.self)
    if isVacant { table.isGone(self, id: value.id, forNow: flags.contains(.hidden)) } else { table.isBack(self) }
    table.restoreTenure(of: self, state.tenure, in: state.tenures)
  }

  private func restoreFlags(_ former: NodeFlags) {
    if !former.contains(.stamped) { flags.remove(.stamped) }
    flags.remove([.vacant, .invalidated])
    flags.formUnion(former.intersection([.vacant, .invalidated]))
    setHidden(former.contains(.hidden))
  }

  private func restoreRelations(_ state: State) {
    guard let relations else { return }
    relations.plan = state.plan
    core.letGoLater(setOverlay(state.overlay))
    relations.writtenAt = state.writtenAt
  }

  /// Makes the node's value one that is made of these children, whose values may be others than those in it.
  func relink(to children: [Node]) {
    setChildren(children)
    for index in children.indices { relations?.children[index].seen = children[index].version &- 1 }
    if !children.isEmpty { flags.insert(.dirty) }
  }

  /// Makes a leaf what it was, whatever has become of it in the meantime.
  /// - Returns: The value that it had in the meantime. The caller keeps it until all is in order again.
  func putBack(_ value: T, _ stamp: Stamp) -> T {
    let former = exchange(for: value)
    self.stamp = stamp
    flags.remove([.stamped, .invalidated])
    core.letGoLater(setOverlay(nil))
    advance()
    core.spread(from: self)
    guard isVacant else { return former }
    flags.remove(.vacant)
    setHidden(false)
    let table = core.table(of: T.self)
    table.isBack(self)
    // The type may have got a lifetime in the meantime.
    if table.tenures != nil { table.keep(self) }
    return former
  }
}

extension Node {
  /// Sets what there is over the value that is not sure.
  /// - Returns: What there was. The caller keeps it until all is in order again.
  func setOverlay(_ overlay: AnyObject?) -> AnyObject? {
    let former = relations?.overlay
    if overlay != nil || former != nil { relate().overlay = overlay }
    if overlay == nil { flags.remove(.overlaid) } else { flags.insert(.overlaid) }
    return former
  }
}
