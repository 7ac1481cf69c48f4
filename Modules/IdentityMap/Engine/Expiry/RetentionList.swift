/// The entities of a type that its ``Lifetime`` retains, in the order of their eviction. The list retains their nodes.
final class RetentionList {
  let lifetime: Lifetime
  private var entries = LRUList<Node>()

  init(_ lifetime: Lifetime) {
    self.lifetime = lifetime
  }

  deinit {
    entries.removeAll()
  }

  /// Retains a node as the most recently used.
  /// - Parameter now: The start of a time to live.
  func retain(_ node: Node, cost: Int, now: Duration) {
    let relations = node.makeRelations()
    if let entry = relations.lruEntry {
      return entries.moveToEnd(entry, cost: cost, deadline: deadline(from: now) ?? entry.deadline)
    }
    let entry = LRUEntry(node, cost: cost, deadline: deadline(from: now))
    relations.lruEntry = entry
    node.retainInternally()
    entries.append(entry)
  }

  private func deadline(from now: Duration) -> Duration? {
    if case .timeToLive(let time) = lifetime { now + time } else { nil }
  }

  /// Retains a node again after a rollback, with the cost and the deadline from before: in the order of the deadlines, or
  /// without a deadline as the most recently used. A node of the list with the same deadline keeps its position.
  func restore(_ node: Node, cost: Int, deadline: Duration?) {
    if let entry = node.relations?.lruEntry, entry.deadline == deadline {
      return entries.setCost(of: entry, to: cost)
    }
    release(node)
    let entry = LRUEntry(node, cost: cost, deadline: deadline)
    node.makeRelations().lruEntry = entry
    node.retainInternally()
    entries.insertByDeadline(entry)
  }

  /// Changes the cost of a node, if the list retains it.
  func setCost(of node: Node, to cost: Int) {
    guard let entry = node.relations?.lruEntry else { return }
    entries.setCost(of: entry, to: cost)
  }

  func release(_ node: Node) {
    guard let entry = node.relations?.lruEntry else { return }
    entries.remove(entry)
    node.relations?.lruEntry = nil
    node.releaseInternally()
  }

  /// Whether the first entity is to be evicted.
  func isOverLimit(now: () -> Duration) -> Bool {
    guard let first = entries.first else { return false }
    return switch lifetime {
    case .whileUsed: true
    case .pinned: false
    case .last(let limit): entries.count > limit
    case .timeToLive: first.deadline.map { $0 <= now() } ?? false
    case .memory(let bytes): entries.cost > bytes
    }
  }

  func releaseFirst() {
    if let first = entries.first { release(first.element) }
  }
}
