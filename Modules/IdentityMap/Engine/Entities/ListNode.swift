/// A list of entities that observers follow as one value.
final class ListNode<T: Identifiable & Sendable>: ValueNode<[T]> {
  override func read() -> [T] {
    core.bringUpToDate(self)
    guard let relations else { return [] }
    let links = relations.children
    return Array(unsafeUninitializedCapacity: links.count) { list, count in
      guard let start = list.baseAddress else { return }
      // A rolled back transaction leaves the entities that it stored absent.
      for link in links {
        link.withChild { child in
          guard !child.isAbsent else { return }
          let node = unsafeDowncast(child, to: EntityNode<T>.self)
          (start + count).initialize(to: node.hasCycleLinks ? node.read() : node.value)
          count += 1
        }
      }
    }
  }

  override var isReadable: Bool { !flags.contains(.dirty) && core.graph.cycleLinks == 0 }

  override func remove(_ child: Node) -> Bool {
    guard let relations else { return false }
    core.record(self)
    setChildren(relations.children.map(\.child).filter { $0 !== child })
    advanceVersion()
    core.propagate(from: self)
    return false
  }

  override func makeRestoration() -> () -> Void {
    let children = relations?.children.map(\.child) ?? []
    return { [self] in
      setChildren(children)
      advanceVersion()
      core.propagate(from: self)
    }
  }

  override func removeFromTable() {
    Unmanaged.passUnretained(self).release()
  }

  override var label: String { "list of \(T.self)" }

  /// Makes a node that retains itself until the store removes it, after the release of its last handle.
  static func make(_ children: [Node], core: StoreCore) -> ListNode {
    let node = ListNode(core: core)
    _ = Unmanaged.passRetained(node)
    node.setChildren(children)
    core.pending.addReleaseCandidate(node)
    return node
  }
}
