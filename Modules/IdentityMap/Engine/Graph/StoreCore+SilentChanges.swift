/// Changes between values that the equality of their type, which may ignore fields, finds equal. The value is stored
/// and aggregates are rebuilt from it; observers are not notified.
extension StoreCore {
  /// Marks all ancestors of a node as dirty without scheduling observers.
  func propagateSilently(from node: Node) {
    noteSilentChange(of: node)
    var stack = [node]
    while let node = stack.popLast() {
      guard let relations = node.relations else { continue }
      // Readers of a value with a cycle always get the current value of the entity that closes it.
      for link in relations.parents where !link.closesCycle {
        let parent = link.parent
        guard !parent.flags.contains(.dirty) else { continue }
        parent.flags.insert(.dirty)
        parent.isSilentlyDirty = true
        noteSilentChange(of: parent)
        stack.append(parent)
      }
    }
  }

  private func noteSilentChange(of node: Node) {
    node.advanceVersionSilently()
    guard node.flags.contains(.queried) else { return }
    // The condition or the order of a query may read every field.
    node.notifyQueries(isReported: false)
    pending.requireCommit()
  }
}

extension Node {
  /// Whether the value is dirty without observers having been notified. The next change has to notify them, although
  /// the node is dirty already.
  final var isSilentlyDirty: Bool {
    get {
      guard let relations else { return false }
      return relations.isSilentlyDirty
    }
    set { relations?.isSilentlyDirty = newValue }
  }

  /// Advances the version and marks it as received by all observers.
  final func advanceVersionSilently() {
    guard let observerGroups = relations?.observerGroups, !observerGroups.isEmpty else { return advanceVersion() }
    let former = version
    advanceVersion()
    let current = version
    for group in observerGroups { group.skip(from: former, to: current) }
    core.record { for group in observerGroups { group.skip(from: current, to: former) } }
  }
}
