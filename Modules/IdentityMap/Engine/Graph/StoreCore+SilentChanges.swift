/// Values that are others than before, but equal by the equality of their type, which may leave fields out. They are
/// stored, and everything that contains them is made of them; observers are told nothing.
extension StoreCore {
  /// Goes up from a node whose value has changed in nothing that its equality sees.
  func propagateSilently(from node: Node) {
    noteSilentChange(of: node)
    var stack = [node]
    while let node = stack.popLast() {
      guard let relations = node.relations else { continue }
      // Readers of a value that closes a circle get the current one in any case.
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
    // A condition or an order may look at every field.
    node.notifyQueries(isReported: false)
    pending.requireCommit()
  }
}

extension Node {
  /// The value is out of date, and observers have not been told of it: the next change has to tell them, although the
  /// node is out of date already.
  final var isSilentlyDirty: Bool {
    get {
      guard let relations else { return false }
      return relations.isSilentlyDirty
    }
    set { relations?.isSilentlyDirty = newValue }
  }

  /// The value is another one from now on, and observers count as told of it.
  final func advanceVersionSilently() {
    guard let observerGroups = relations?.observerGroups, !observerGroups.isEmpty else { return advanceVersion() }
    let former = version
    advanceVersion()
    let current = version
    for group in observerGroups { group.skip(from: former, to: current) }
    core.record { for group in observerGroups { group.skip(from: current, to: former) } }
  }
}
