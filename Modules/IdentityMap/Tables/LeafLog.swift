/// What leaves of one type were before a transaction: values side by side, because a closure for each would take longer
/// than to store the leaf.
@usableFromInline
class AnyLeafLog {
  @usableFromInline init() {}

  /// How many leaves are in it.
  var count: Int { 0 }

  /// Says of leaves that they are in no journal.
  func unmark(_ range: Range<Int>) {}

  /// Makes leaves what they were, the last first, and forgets them.
  func restore(from start: Int) {}

  /// Forgets everything.
  func clear() {}
}

@usableFromInline
final class LeafLog<T: Identifiable & Sendable>: AnyLeafLog {
  /// A leaf, with the value that it had; `nil` when it was not there.
  @usableFromInline struct Entry {
    /// What goes out of a table in a transaction is there until the transaction ends.
    @usableFromInline let node: Unmanaged<EntityNode<T>>
    @usableFromInline let value: T?
    @usableFromInline let stamp: Stamp

    @inlinable init(_ node: EntityNode<T>, value: T?) {
      self.node = .passUnretained(node)
      self.value = value
      stamp = node.stamp
    }
  }

  @exclusivity(unchecked) @usableFromInline var entries: ContiguousArray<Entry> = []

  override var count: Int { entries.count }

  override func unmark(_ range: Range<Int>) {
    for entry in entries[range] { entry.node._withUnsafeGuaranteedRef { _ = $0.flags.remove(.journaled) } }
  }

  override func restore(from start: Int) {
    let undone = entries[start...]
    entries.removeSubrange(start...)
    for entry in undone.reversed() {
      let node = entry.node.takeUnretainedValue()
      node.flags.remove(.journaled)
      if let value = entry.value {
        node.putBack(value, entry.stamp)
      } else {
        node.becomeVacant()
        node.stamp = .nan
      }
    }
  }

  override func clear() {
    entries.removeAll(keepingCapacity: entries.count < 1024)
  }
}

extension EntityTable {
  /// Keeps the value of a leaf in which nobody takes part; there is nothing else of it. While a journal is kept.
  @inlinable func recordValue(of node: EntityNode<T>) {
    record(LeafLog.Entry(node, value: node.value), of: node)
  }

  /// Keeps that a leaf was not there. While a journal is kept.
  @inlinable func recordCreation(of node: EntityNode<T>) {
    record(LeafLog.Entry(node, value: nil), of: node)
  }

  @inlinable func record(_ entry: LeafLog<T>.Entry, of node: EntityNode<T>) {
    node.flags.insert(.journaled)
    if core.openLog !== leafLog { core.begin(leafLog) }
    leafLog.entries.append(entry)
  }
}
