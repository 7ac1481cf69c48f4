/// What a node has to do with others.
@usableFromInline
final class Relations {
  /// The nodes that the value is made of, in the order in which they are met in it, as often as they are met.
  @exclusivity(unchecked) var children = LinkBuffer<ChildLink>()
  /// The nodes whose values contain this one's.
  @exclusivity(unchecked) var parents = LinkBuffer<ParentLink>()
  /// Larger than that of all children, but for those that close a circle. A leaf has 0.
  @exclusivity(unchecked) var height: Int32 = 0
  /// How many reasons inside of the store there are to keep the node: an alias, a lifetime.
  @exclusivity(unchecked) var pins: Int32 = 0
  /// How many of the children close a circle.
  @exclusivity(unchecked) var backLinks: Int32 = 0
  /// The places of the children in the value; a `Plan` of the value's type.
  @exclusivity(unchecked) var plan: AnyPlan?
  /// What few nodes have.
  @exclusivity(unchecked) private var rare: Rare?

  deinit {
    children.deallocate()
    parents.deallocate()
  }

  private final class Rare {
    var audiences: [AnyAudience] = []
    var overlay: AnyObject?
    var tenure: Tenure?
    var writtenAt: Duration?
  }

  private func makeRare() -> Rare {
    if let rare { return rare }
    let made = Rare()
    rare = made
    return made
  }
}

extension Relations {
  /// Who is told of changes.
  var audiences: [AnyAudience] {
    get { rare?.audiences ?? [] }
    set { makeRare().audiences = newValue }
  }

  var hasAudiences: Bool {
    guard let rare else { return false }
    return !rare.audiences.isEmpty
  }

  /// Changes that are not sure yet; an `Overlay` of the value's type.
  var overlay: AnyObject? {
    get { rare?.overlay }
    set { if rare != nil || newValue != nil { makeRare().overlay = newValue } }
  }

  /// Where the node stands in the order of its type's lifetime.
  var tenure: Tenure? {
    get { rare?.tenure }
    set { if rare != nil || newValue != nil { makeRare().tenure = newValue } }
  }

  /// When the value was written, by the store's clock.
  var writtenAt: Duration? {
    get { rare?.writtenAt }
    set { if rare != nil || newValue != nil { makeRare().writtenAt = newValue } }
  }
}

/// From a parent to a child.
@usableFromInline
struct ChildLink {
  @usableFromInline unowned(unsafe) let child: Node
  /// Where the link back is among the child's parents.
  var place: Int32
  /// The version of the child's value that is in the parent's.
  @usableFromInline var seen: UInt32
  /// It closes a circle: the child's value is not written into the parent's, but for readers of the parent itself.
  @usableFromInline let isBack: Bool
}

extension ChildLink {
  /// Does something with the child, which is there all the while.
  func withChild<R>(_ body: (Node) -> R) -> R {
    Unmanaged.passUnretained(child)._withUnsafeGuaranteedRef(body)
  }
}

/// From a child to a parent.
struct ParentLink {
  unowned(unsafe) let parent: Node
  /// Where the link is among the parent's children.
  var place: Int32
  let isBack: Bool
}

extension ParentLink {
  /// Does something with the parent, which is there all the while.
  func withParent(_ body: (Node) -> Void) {
    Unmanaged.passUnretained(parent)._withUnsafeGuaranteedRef(body)
  }
}

/// Goes along the links of a node while its value is walked over.
@usableFromInline
struct LinkCursor {
  @usableFromInline enum Purpose {
    /// To write what has changed.
    case refresh
    /// To write what closes a circle.
    case closeCircles
    /// To take out what stands for a node.
    case remove
  }

  /// Those of the node, which do not change during the walk but for what is noted in them.
  @usableFromInline let links: UnsafeMutableBufferPointer<ChildLink>
  @usableFromInline let purpose: Purpose
  /// The node that is taken out.
  @usableFromInline let removed: ObjectIdentifier?
  @usableFromInline var position = 0

  fileprivate init(_ links: UnsafeMutableBufferPointer<ChildLink>, _ purpose: Purpose, removing node: Node? = nil) {
    self.links = links
    self.purpose = purpose
    removed = node.map { ObjectIdentifier($0) }
  }

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

  /// Whether one of the next links leads to the node that is removed.
  @inlinable func meetsRemoved(_ count: Int) -> Bool {
    countOfRemoved(count) > 0
  }

  @inlinable func countOfRemoved(_ count: Int) -> Int {
    (position..<min(position + count, links.count)).count { isRemoved(links[$0]) }
  }

  @inlinable mutating func nextIsRemoved() -> Bool {
    nextRemoved() != nil
  }

  @inlinable mutating func nextRemoved() -> Node? {
    let index = position
    position += 1
    guard index < links.count, isRemoved(links[index]) else { return nil }
    return links[index].child
  }

  /// The next link's child unless it is the node that is removed.
  @inlinable mutating func nextUnlessRemoved() -> Node? {
    let index = position
    position += 1
    guard index < links.count, !isRemoved(links[index]) else { return nil }
    return links[index].child
  }

  @inlinable func needsWriting(_ link: ChildLink) -> Bool {
    switch purpose {
    case .refresh: !link.isBack && link.seen != link.child.version
    case .closeCircles: link.isBack
    case .remove: false
    }
  }

  @inlinable func isRemoved(_ link: ChildLink) -> Bool {
    removed == ObjectIdentifier(link.child)
  }
}

extension LinkCursor {
  /// Walks along nodes, without links to them, to take one out of them, or else to write their values.
  static func walk<R>(over nodes: [Node], removing node: Node? = nil, _ body: (inout LinkCursor) -> R) -> R {
    var links = nodes.map { ChildLink(child: $0, place: 0, seen: $0.version &- 1, isBack: false) }
    return links.withUnsafeMutableBufferPointer { links in
      var cursor = LinkCursor(links, node == nil ? .refresh : .remove, removing: node)
      return body(&cursor)
    }
  }

  /// The next link's child when its value is to be written, and it is of the type that the place has. It is not when the
  /// value was given other places while it was written, as by a setter that does not keep what it is given. The child is
  /// there all the while, and not retained, because that would take as long as the rest.
  @inlinable mutating func nextToWrite<T>(of type: EntityNode<T>.Type) -> Unmanaged<EntityNode<T>>? {
    let index = position
    position += 1
    guard index < links.count, needsWriting(links[index]) else { return nil }
    let child = Unmanaged.passUnretained(links[index].child)
    return child._withUnsafeGuaranteedRef { child in
      links[index].seen = child.version
      guard ObjectIdentifier(Swift.type(of: child)) == ObjectIdentifier(type) else { return nil }
      return .passUnretained(unsafeDowncast(child, to: type))
    }
  }
}

extension Relations {
  /// Walks along the links to the children.
  @inline(__always)
  func walk<R>(_ purpose: LinkCursor.Purpose, removing node: Node? = nil, _ body: (inout LinkCursor) -> R) -> R {
    var cursor = LinkCursor(children.links, purpose, removing: node)
    return body(&cursor)
  }
}
