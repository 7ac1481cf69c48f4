extension StoreCore {
  /// After a rollback.
  func revertAbandonedChanges() {
    for change in optimistic.takeAbandoned() { change.revert() }
  }

  /// An entity was removed: no change that is taken back brings it back in what it was in.
  func discardFromChanges(_ entity: Node) {
    // A rollback puts everything back by itself.
    guard !undo.isRollingBack else { return }
    for change in optimistic.openChanges { change.discard(entity) }
  }

  /// Lets a closure see the store as it is without the changes that are not sure.
  func withConfirmedValues<R: Sendable>(_ body: () -> R) -> R {
    if optimistic.openChanges.isEmpty { return body() }
    do throws(TemporaryResult<R>) {
      return try undoable { () throws(TemporaryResult<R>) -> R in
        for change in optimistic.openChanges.reversed() { change.revertTemporarily() }
        throw TemporaryResult(result: body())
      }
    } catch {
      return error.result
    }
  }
}

extension StoreCore {
  /// Whether there are changes that are not sure of nodes, or of what is in them.
  func hasTentativeChanges(in nodes: [Node]) -> Bool {
    guard !optimistic.openChanges.isEmpty else { return false }
    var met: Set<ObjectIdentifier> = []
    var stack = nodes
    while let node = stack.popLast() {
      guard met.insert(ObjectIdentifier(node)).inserted else { continue }
      if node.flags.contains(.overlaid) { return true }
      stack += node.relations?.children.map(\.child) ?? []
    }
    return false
  }
}

/// What was seen in a transaction that is undone for that.
private struct TemporaryResult<R: Sendable>: Error {
  let result: R
}
