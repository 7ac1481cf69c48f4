/// An entity that is kept by its type's lifetime.
final class LRUEntry {
  unowned(unsafe) let node: Node
  var cost = 0
  var end: Duration?
  /// Those kept before it.
  unowned(unsafe) var previous: LRUEntry?
  /// Those kept after it.
  var next: LRUEntry?

  init(_ node: Node) {
    self.node = node
  }
}

/// The entities of a type that its lifetime keeps, those first that will go first.
final class LRUList {
  let lifetime: Lifetime
  private var first: LRUEntry?
  private var last: LRUEntry?
  private var count = 0
  private var cost = 0

  init(_ lifetime: Lifetime) {
    self.lifetime = lifetime
  }

  deinit {
    // One by one: a chain that is released at its head is released recursively.
    while let tenure = first {
      first = tenure.next
      tenure.next = nil
    }
  }

  /// Keeps a node, as one that was used last.
  func keep(_ node: Node, cost: Int, now: Duration) {
    let relations = node.relate()
    let tenure: LRUEntry
    if let known = relations.tenure {
      tenure = known
      unlink(tenure)
    } else {
      tenure = LRUEntry(node)
      relations.tenure = tenure
      node.pin()
    }
    tenure.cost = cost
    if case .timeToLive(let time) = lifetime { tenure.end = now + time }
    append(tenure)
  }

  /// Keeps a node as it was kept before.
  func restore(_ node: Node, cost: Int, end: Duration?) {
    if let known = node.relations?.tenure, known.end == end { return }
    self.end(of: node)
    let tenure = LRUEntry(node)
    (tenure.cost, tenure.end) = (cost, end)
    node.relate().tenure = tenure
    node.pin()
    // Those that will go later are behind it.
    var place = last
    if let end { while let later = place?.end, later > end { place = place?.previous } }
    insert(tenure, behind: place)
  }

  /// Keeps a node no longer.
  func end(of node: Node) {
    guard let tenure = node.relations?.tenure else { return }
    unlink(tenure)
    node.relations?.tenure = nil
    node.unpin()
  }

  /// Whether the first has to go.
  func isOver(now: () -> Duration) -> Bool {
    guard let first else { return false }
    return switch lifetime {
    case .whileUsed: true
    case .pinned: false
    case .last(let limit): count > limit
    case .timeToLive: first.end.map { $0 <= now() } ?? false
    case .memory(let bytes): cost > bytes
    }
  }

  func endFirst() {
    if let first { end(of: first.node) }
  }

  private func append(_ tenure: LRUEntry) {
    insert(tenure, behind: last)
  }

  /// - Parameter place: The one before; `nil` to be the first.
  private func insert(_ tenure: LRUEntry, behind place: LRUEntry?) {
    let following = place.map { $0.next } ?? first
    tenure.previous = place
    tenure.next = following
    if let place { place.next = tenure } else { first = tenure }
    if let following { following.previous = tenure } else { last = tenure }
    count += 1
    cost += tenure.cost
  }

  private func unlink(_ tenure: LRUEntry) {
    if let previous = tenure.previous { previous.next = tenure.next } else { first = tenure.next }
    if let next = tenure.next { next.previous = tenure.previous } else { last = tenure.previous }
    tenure.previous = nil
    tenure.next = nil
    count -= 1
    cost -= tenure.cost
  }
}
