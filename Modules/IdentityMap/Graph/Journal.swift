/// What nodes were before a transaction, so that it can be rolled back.
final class Journal {
  fileprivate var entries: [Entry] = []
  /// From where on the entries' nodes are marked as being in the journal.
  fileprivate var marked = 0

  init() {}

  fileprivate init(entries: [Entry], marked: Int) {
    self.entries = entries
    self.marked = marked
  }

  fileprivate struct Entry {
    let node: Node
    let restore: () -> Void
  }
}

extension StoreCore {
  /// Keeps what a node is now, if it has not been kept in this transaction.
  func record(_ node: Node) {
    guard journal != nil, !node.flags.contains(.journaled) else { return }
    write(node, node.snapshot())
  }

  /// Keeps the value of a leaf in which nobody takes part; there is nothing else of it.
  @usableFromInline func recordValue<T>(of node: EntityNode<T>) {
    let (value, stamp) = (node.value, node.stamp)
    write(node) { node.putBack(value, stamp) }
  }

  /// Keeps that a node was not there.
  @usableFromInline func recordCreation<T>(of node: EntityNode<T>) {
    guard journal != nil else { return }
    write(node) { node.becomeVacant() }
  }

  private func write(_ node: Node, _ restore: @escaping () -> Void) {
    node.flags.insert(.journaled)
    journal?.entries.append(Journal.Entry(node: node, restore: restore))
  }

  /// Runs operations that are undone, all of them, when they throw.
  func undoable<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    let isOutermost = journal == nil
    if isOutermost { journal = Journal() } else { unmark() }
    let start = journal?.entries.count ?? 0
    let changedBefore = changed.count
    defer {
      unmark()
      if isOutermost { journal = nil }
    }
    do {
      return try body()
    } catch {
      rollBack(to: start, changedBefore: changedBefore)
      throw error
    }
  }

  /// From here on nodes are recorded anew.
  private func unmark() {
    guard let entries = journal?.entries, let marked = journal?.marked else { return }
    for entry in entries[marked...] { entry.node.flags.remove(.journaled) }
    journal?.marked = entries.count
  }

  private func rollBack(to start: Int, changedBefore: Int) {
    guard let entries = journal?.entries else { return }
    // What is put back is not written down again.
    let kept = Array(entries[..<start])
    for entry in entries[start...] { entry.node.flags.remove(.journaled) }
    journal = nil
    for entry in entries[start...].reversed() { entry.restore() }
    journal = Journal(entries: kept, marked: kept.count)
    // Nobody is told of what did not happen.
    for node in changed[changedBefore...] { node.flags.remove(.changed) }
    changed.removeSubrange(changedBefore...)
  }
}

/// A node that can stop standing for something, while it is still held.
protocol Removable {
  func becomeVacant()
}
