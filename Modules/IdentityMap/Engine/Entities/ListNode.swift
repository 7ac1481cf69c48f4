/// A list of entities that observers follow as one value.
final class ListNode<T: Identifiable & Sendable>: SelfRetainingNode<[T]> {
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
    // A tentatively removed entity is not visible in the list.
    if !child.isAbsent { didChange() }
    return false
  }

  override func removeAll(_ children: Set<ObjectIdentifier>) {
    guard let relations else { return }
    core.record(self)
    setChildren(relations.children.map(\.child).filter { !children.contains(ObjectIdentifier($0)) })
    didChange()
  }

  override func makeRestoration() -> () -> Void {
    let children = relations?.children.map(\.child) ?? []
    return { [self] in
      setChildren(children)
      didChange()
    }
  }

  override var label: String { "list of \(T.self)" }

  /// Makes the node of a list.
  static func make(_ children: [Node], core: StoreCore) -> ListNode {
    let node = ListNode(core: core)
    node.retainUntilEviction(with: children)
    return node
  }
}
