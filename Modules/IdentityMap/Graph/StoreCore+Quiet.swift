/// Values that are others than before, but equal by the equality of their type, which may leave fields out. They are
/// stored, and everything that contains them is made of them; observers are told nothing.
extension StoreCore {
  /// Goes up from a node whose value has changed in nothing that its equality sees.
  func spreadQuietly(from node: Node) {
    noteQuietChange(of: node)
    var stack = [node]
    while let node = stack.popLast() {
      guard let relations = node.relations else { continue }
      // Readers of a value that closes a circle get the current one in any case.
      for link in relations.parents where !link.isBack {
        let parent = link.parent
        guard !parent.flags.contains(.dirty) else { continue }
        parent.flags.insert(.dirty)
        parent.isUntold = true
        noteQuietChange(of: parent)
        stack.append(parent)
      }
    }
  }

  private func noteQuietChange(of node: Node) {
    node.advanceQuietly()
    guard node.flags.contains(.queried) else { return }
    // A condition or an order may look at every field.
    node.tellQueries(isTold: false)
    hasWork = true
  }
}

extension Node {
  /// The value is out of date, and observers have not been told of it: the next change has to tell them, although the
  /// node is out of date already.
  final var isUntold: Bool {
    get {
      guard let relations else { return false }
      return relations.isUntold
    }
    set { relations?.isUntold = newValue }
  }

  /// The value is another one from now on, and observers count as told of it.
  final func advanceQuietly() {
    guard let audiences = relations?.audiences, !audiences.isEmpty else { return advance() }
    let former = version
    advance()
    let current = version
    for audience in audiences { audience.skip(from: former, to: current) }
    core.record { for audience in audiences { audience.skip(from: current, to: former) } }
  }
}
