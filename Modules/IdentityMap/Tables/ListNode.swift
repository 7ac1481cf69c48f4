/// A list of entities that somebody holds or watches as one.
final class ListNode<T: Identifiable & Sendable>: ValueNode<[T]> {
  override func read() -> [T] {
    core.refresh(self)
    guard let relations else { return [] }
    // An entity that was stored by a transaction that was undone is vacant.
    var list: [T] = []
    list.reserveCapacity(relations.children.count)
    for link in relations.children where !link.child.isVacant {
      let node = unsafeDowncast(link.child, to: EntityNode<T>.self)
      list.append(node.closesCircles ? node.read() : node.value)
    }
    return list
  }

  override func remove(_ child: Node) -> Bool {
    guard let relations else { return false }
    core.record(self)
    setChildren(relations.children.map(\.child).filter { $0 !== child })
    version &+= 1
    core.spread(from: self)
    return false
  }

  override func snapshot() -> () -> Void {
    let children = relations?.children.map(\.child) ?? []
    return { [self] in
      setChildren(children)
      version &+= 1
      core.spread(from: self)
    }
  }

  override func leaveTable() {
    Unmanaged.passUnretained(self).release()
  }

  override var label: String { "list of \(T.self)" }

  /// A node that lives until it is dropped.
  static func make(_ children: [Node], core: StoreCore) -> ListNode {
    let node = ListNode(core: core)
    _ = Unmanaged.passRetained(node)
    node.setChildren(children)
    core.loosen(node)
    return node
  }
}
