extension StoreCore {
  /// Reverts the changes whose end the rollback has undone after the release of the program's object.
  func revertAbandonedChanges() {
    for change in optimistic.takeAbandoned() { change.revert() }
  }

  /// Removes an entity from all open changes, so that no rollback of a change restores it.
  func discardFromChanges(_ entity: Node) {
    // A rollback restores the participants by itself.
    guard !undo.isRollingBack else { return }
    for change in optimistic.openChanges { change.discard(entity) }
  }

  /// Ends the exclusions of an entity from its aggregates, because its new value does not require the entities whose
  /// removal has removed it.
  func includeInChanges(_ entity: Node) {
    for change in optimistic.openChanges where !change.isEnding { change.include(entity) }
  }

  /// Runs a closure with all tentative changes reverted temporarily.
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
  /// Whether nodes, or nodes nested in them, have tentative changes.
  func hasTentativeChanges(in nodes: [Node]) -> Bool {
    guard !optimistic.openChanges.isEmpty else { return false }
    var visited: Set<ObjectIdentifier> = []
    var stack = nodes
    while let node = stack.popLast() {
      guard visited.insert(ObjectIdentifier(node)).inserted else { continue }
      if node.flags.contains(.overlaid) { return true }
      stack += node.relations?.children.map(\.child) ?? []
    }
    return false
  }
}

/// A result that leaves a transaction as an error, so that the transaction is rolled back.
private struct TemporaryResult<R: Sendable>: Error {
  let result: R
}
