/// Visits the links of a node in step with a walk over its value: each accessor moves the cursor by the number of
/// entities at its key path.
///
/// Every access checks the end of the links. A setter that changes entities of another key path during the walk makes
/// the value differ from the links, and the walk can go beyond the last link then.
@usableFromInline
struct LinkCursor {
  @usableFromInline enum Purpose {
    /// Writes changed children into the value.
    case writeChildren
    /// Writes children that close a cycle into a copy of the value.
    case closeCycles
    /// Removes nodes from the value.
    case remove
  }

  /// The links of the node. The walk only changes the written versions.
  @usableFromInline let links: UnsafeMutableBufferPointer<ChildLink>
  @usableFromInline let purpose: Purpose
  /// The node to remove from the value; `nil` when one walk removes several, and for a walk of another purpose. Most
  /// removals are of a single node, whose comparison needs no set.
  @usableFromInline let removed: ObjectIdentifier?
  /// The nodes to remove from the value, when one walk removes several; `nil` for any other walk.
  @usableFromInline let removedNodes: Set<ObjectIdentifier>?
  /// The index of the next link.
  @usableFromInline var position = 0
  /// The number of occurrences of removed nodes that a policy keeps.
  @usableFromInline var keptCount = 0
  /// The number of these occurrences whose policy refuses the removal.
  @usableFromInline var refusedCount = 0

  fileprivate init(_ links: UnsafeMutableBufferPointer<ChildLink>, _ purpose: Purpose) {
    self.links = links
    self.purpose = purpose
    removed = nil
    removedNodes = nil
  }

  fileprivate init(_ links: UnsafeMutableBufferPointer<ChildLink>, removing node: Node) {
    self.links = links
    purpose = .remove
    removed = ObjectIdentifier(node)
    removedNodes = nil
  }

  fileprivate init(_ links: UnsafeMutableBufferPointer<ChildLink>, removingAll nodes: Set<ObjectIdentifier>) {
    self.links = links
    purpose = .remove
    removed = nil
    removedNodes = nodes
  }

  /// Moves past the links of a key path that the walk leaves unchanged.
  @inlinable mutating func skip(_ count: Int) {
    position += count
  }

  /// Whether one of the next links has a child to write.
  @inlinable func needsWriting(_ count: Int) -> Bool {
    let end = min(position + count, links.count)
    var index = position
    while index < end {
      if needsWriting(links[index]) { return true }
      index += 1
    }
    return false
  }

  /// Whether one of the next links leads to a removed node.
  @inlinable func containsRemoved(_ count: Int) -> Bool {
    countOfRemoved(count) > 0
  }

  /// The number of the next links that lead to a removed node; zero behind the last link.
  @inlinable func countOfRemoved(_ count: Int) -> Int {
    let end = min(position + count, links.count)
    guard position < end else { return 0 }
    return (position..<end).count { isRemoved(links[$0]) }
  }

  /// Skips the links of a key path whose policy keeps removed entities, and counts the kept occurrences.
  mutating func keep(_ count: Int, isRefusing: Bool) {
    let removedCount = countOfRemoved(count)
    keptCount += removedCount
    if isRefusing { refusedCount += removedCount }
    skip(count)
  }

  /// Moves past the next link; returns whether the link leads to a removed node.
  @inlinable mutating func nextIsRemoved() -> Bool {
    nextRemoved() != nil
  }

  /// The next link's child, if it is a removed node.
  @inlinable mutating func nextRemoved() -> Node? {
    let index = position
    position += 1
    guard index < links.count, isRemoved(links[index]) else { return nil }
    return links[index].child
  }

  /// The next link's child, unless it is a removed node.
  @inlinable mutating func nextUnlessRemoved() -> Node? {
    let index = position
    position += 1
    guard index < links.count, !isRemoved(links[index]) else { return nil }
    return links[index].child
  }

  @inlinable func needsWriting(_ link: ChildLink) -> Bool {
    switch purpose {
    case .writeChildren:
      // An inconsistent child is written by a later rebuild: the parent stays dirty.
      !link.closesCycle && link.writtenVersion != link.child.version && !link.child.flags.contains(.inconsistent)
    case .closeCycles: link.closesCycle
    case .remove: false
    }
  }

  @inlinable func isRemoved(_ link: ChildLink) -> Bool {
    let identity = ObjectIdentifier(link.child)
    return removed == identity || removedNodes?.contains(identity) == true
  }
}

extension LinkCursor {
  /// Walks over nodes without links, to write their values.
  static func walk<R>(over nodes: [Node], _ body: (inout LinkCursor) -> R) -> R {
    withLinks(to: nodes) { links in
      var cursor = LinkCursor(links, .writeChildren)
      return body(&cursor)
    }
  }

  /// Walks over nodes without links, to remove one of them.
  static func walk<R>(over nodes: [Node], removing node: Node, _ body: (inout LinkCursor) -> R) -> R {
    withLinks(to: nodes) { links in
      var cursor = LinkCursor(links, removing: node)
      return body(&cursor)
    }
  }

  /// Walks over nodes without links, to remove several of them.
  static func walk<R>(
    over nodes: [Node], removingAll removed: Set<ObjectIdentifier>, _ body: (inout LinkCursor) -> R
  ) -> R {
    withLinks(to: nodes) { links in
      var cursor = LinkCursor(links, removingAll: removed)
      return body(&cursor)
    }
  }

  /// Makes links to nodes for one walk. Each child counts as changed, so that a writing walk writes all.
  private static func withLinks<R>(
    to nodes: [Node], _ body: (UnsafeMutableBufferPointer<ChildLink>) -> R
  ) -> R {
    var links = nodes.map { ChildLink(child: $0, parentIndex: 0, writtenVersion: $0.version &- 1, closesCycle: false) }
    return links.withUnsafeMutableBufferPointer { body($0) }
  }

  /// The next link's child, when its value has to be written and it has the type of the key path. A setter that changes
  /// its argument during the walk can make the types differ. The child is not retained, because that would take as long
  /// as the rest; the table retains it.
  @inlinable mutating func nextToWrite<N: Node>(of type: N.Type) -> Unmanaged<N>? {
    let index = position
    position += 1
    guard index < links.count, needsWriting(links[index]) else { return nil }
    let child = Unmanaged.passUnretained(links[index].child)
    return child._withUnsafeGuaranteedRef { child in
      links[index].writtenVersion = child.version
      guard ObjectIdentifier(Swift.type(of: child)) == ObjectIdentifier(type) else { return nil }
      return .passUnretained(unsafeDowncast(child, to: type))
    }
  }
}

extension LinkCursor {
  /// Marks a visited link of a set as outdated in the value, so that the next rebuild writes its child.
  @usableFromInline mutating func markOutdated(_ index: Int) {
    let child = links[index].child
    links[index].writtenVersion = child.version &- 1
    child.core.graph.keepsMembers = true
  }

  /// Releases a replaced value when the lock is free, because the node is not consistent yet. Walks for another purpose
  /// change a copy: the node's own value still retains the replaced value.
  @inlinable func releaseLater<Former>(_ former: Former) {
    guard purpose == .writeChildren, let link = links.first else { return }
    Unmanaged.passUnretained(link.child)._withUnsafeGuaranteedRef { child in
      Unmanaged.passUnretained(child.core)._withUnsafeGuaranteedRef { $0.releaseLater(former) }
    }
  }
}

extension Relations {
  /// Walks along the links to the children, to write them.
  @inline(__always)
  func walk<R>(_ purpose: LinkCursor.Purpose, _ body: (inout LinkCursor) -> R) -> R {
    var cursor = LinkCursor(children.links, purpose)
    return body(&cursor)
  }

  /// Walks along the links to the children, to remove one of them.
  func walk<R>(removing node: Node, _ body: (inout LinkCursor) -> R) -> R {
    var cursor = LinkCursor(children.links, removing: node)
    return body(&cursor)
  }

  /// Walks along the links to the children, to remove several of them.
  func walk<R>(removingAll removed: Set<ObjectIdentifier>, _ body: (inout LinkCursor) -> R) -> R {
    var cursor = LinkCursor(children.links, removingAll: removed)
    return body(&cursor)
  }
}
