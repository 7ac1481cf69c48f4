/// The state of an entity before a transaction, which the undo log records and a rollback restores.
extension EntityNode {
  /// The state that a rollback restores, beside the value and the stamp.
  private struct State {
    let flags: NodeFlags
    let children: [Node]
    let plan: AnyNestingPlan?
    let overlay: AnyObject?
    let writtenAt: Duration?
    let lruEntry: (cost: Int, deadline: Duration?)?
    let retention: RetentionList?
  }

  private var state: State {
    State(
      flags: flags.intersection([.absent, .tentativelyRemoved, .invalidated, .stamped]),
      children: relations?.children.map(\.child) ?? [], plan: relations?.plan, overlay: relations?.overlay,
      writtenAt: relations?.writtenAt, lruEntry: relations?.lruEntry.map { ($0.cost, $0.deadline) },
      retention: core.table(of: T.self).retention)
  }

  /// Returns a closure that restores the current state of the node.
  func restoration() -> () -> Void {
    let (value, stamp, state) = (value, stamp, state)
    return { [self] in
      core.releaseLater(exchange(for: value))
      self.stamp = stamp
      restore(state)
    }
  }

  private func restore(_ state: State) {
    restoreFlags(state.flags)
    restoreRelations(state)
    relink(to: state.children)
    didChange()
    core.pending.addEvictionCandidate(self)
    let table = core.table(of: T.self)
    if isAbsent {
      table.didRemove(self, id: value.id, isTentative: flags.contains(.tentativelyRemoved))
    } else {
      table.didRestore(self)
    }
    table.restoreRetention(of: self, state.lruEntry, in: state.retention)
  }

  private func restoreFlags(_ former: NodeFlags) {
    if !former.contains(.stamped) { flags.remove(.stamped) }
    flags.remove([.absent, .invalidated])
    flags.formUnion(former.intersection([.absent, .invalidated]))
    setTentativelyRemoved(former.contains(.tentativelyRemoved))
  }

  private func restoreRelations(_ state: State) {
    guard let relations else { return }
    relations.plan = state.plan
    core.releaseLater(setOverlay(state.overlay))
    relations.writtenAt = state.writtenAt
  }

  /// Restores a leaf after any later change, its removal included.
  /// - Returns: The value before the restoration. The caller retains it until the node is consistent.
  func restoreLeaf(_ value: T, _ stamp: Stamp) -> T {
    let former = exchange(for: value)
    self.stamp = stamp
    flags.remove([.stamped, .invalidated])
    core.releaseLater(setOverlay(nil))
    didChange()
    guard isAbsent else { return former }
    flags.remove(.absent)
    setTentativelyRemoved(false)
    let table = core.table(of: T.self)
    table.didRestore(self)
    // The type may have received a lifetime since the recording.
    if table.retention != nil { table.retain(self) }
    return former
  }
}
