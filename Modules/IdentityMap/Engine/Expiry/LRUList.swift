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
    while let lruEntry = first {
      first = lruEntry.next
      lruEntry.next = nil
    }
  }

  /// Keeps a node, as one that was used last.
  func keep(_ node: Node, cost: Int, now: Duration) {
    let relations = node.makeRelations()
    let lruEntry: LRUEntry
    if let known = relations.lruEntry {
      lruEntry = known
      unlink(lruEntry)
    } else {
      lruEntry = LRUEntry(node)
      relations.lruEntry = lruEntry
      node.pin()
    }
    lruEntry.cost = cost
    if case .timeToLive(let time) = lifetime { lruEntry.end = now + time }
    append(lruEntry)
  }

  /// Keeps a node as it was kept before.
  func restore(_ node: Node, cost: Int, end: Duration?) {
    if let known = node.relations?.lruEntry, known.end == end { return }
    self.end(of: node)
    let lruEntry = LRUEntry(node)
    (lruEntry.cost, lruEntry.end) = (cost, end)
    node.makeRelations().lruEntry = lruEntry
    node.pin()
    // Those that will go later are behind it.
    var place = last
    if let end { while let later = place?.end, later > end { place = place?.previous } }
    insert(lruEntry, behind: place)
  }

  /// Keeps a node no longer.
  func end(of node: Node) {
    guard let lruEntry = node.relations?.lruEntry else { return }
    unlink(lruEntry)
    node.relations?.lruEntry = nil
    node.unpin()
  }

  /// Whether the first has to go.
  func isOverLimit(now: () -> Duration) -> Bool {
    guard let first else { return false }
    return switch lifetime {
    case .whileUsed: true
    case .pinned: false
    case .last(let limit): count > limit
    case .timeToLive: first.end.map { $0 <= now() } ?? false
    case .memory(let bytes): cost > bytes
    }
  }

  func removeFirst() {
    if let first { end(of: first.node) }
  }

  private func append(_ lruEntry: LRUEntry) {
    insert(lruEntry, behind: last)
  }

  /// - Parameter place: The one before; `nil` to be the first.
  private func insert(_ lruEntry: LRUEntry, behind place: LRUEntry?) {
    let following = place.map { $0.next } ?? first
    lruEntry.previous = place
    lruEntry.next = following
    if let place { place.next = lruEntry } else { first = lruEntry }
    if let following { following.previous = lruEntry } else { last = lruEntry }
    count += 1
    cost += lruEntry.cost
  }

  private func unlink(_ lruEntry: LRUEntry) {
    if let previous = lruEntry.previous { previous.next = lruEntry.next } else { first = lruEntry.next }
    if let next = lruEntry.next { next.previous = lruEntry.previous } else { last = lruEntry.previous }
    lruEntry.previous = nil
    lruEntry.next = nil
    count -= 1
    cost -= lruEntry.cost
  }
}
