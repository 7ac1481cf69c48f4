/// The states of the leaves of one type before a transaction. They are stored in blocks, because a closure for each
/// leaf would take longer than the store of the leaf.
///
/// Invariants, see ``checkInvariants()``: the list of former values has one value for each entry, in the same order.
@usableFromInline
class AnyLeafUndoLog {
  /// A leaf, with the stamp that it had.
  @usableFromInline struct Entry {
    /// Unretained: the table or the deferred releases retain each node until the transaction ends.
    @usableFromInline let node: Unmanaged<Node>
    @usableFromInline let stamp: Stamp

    @inlinable init(_ node: Node) {
      self.node = .passUnretained(node)
      stamp = node.stamp
    }
  }

  @exclusivity(unchecked) @usableFromInline final var entries = BlockList<Entry>()

  @usableFromInline init() {}

  deinit {
    entries.removeAll()
  }

  /// The number of leaves in the log.
  final var count: Int { entries.count }

  @inlinable final func append(_ node: Node) {
    node.flags.insert(.recorded)
    entries.append(Entry(node))
  }

  /// Removes the flag `recorded` of leaves.
  final func unflag(_ range: Range<Int>) {
    entries.forEach(in: range) { entry in entry.node._withUnsafeGuaranteedRef { _ = $0.flags.remove(.recorded) } }
  }

  /// Restores leaves, the last first, and removes their entries.
  func restore(from start: Int) {}

  /// Ends a debug build if an invariant of the log does not hold. Called under the lock.
  func checkInvariants() {
    entries.checkInvariants()
  }

  /// Removes all entries.
  func clear() {
    var former = entries
    entries = BlockList()
    former.removeAll()
  }
}

/// The undo log of the leaves of one type, with their former values.
@usableFromInline
final class LeafUndoLog<T: Identifiable & Sendable>: AnyLeafUndoLog {
  /// The former values of the leaves; `nil` for leaves that did not exist.
  @exclusivity(unchecked) @usableFromInline var values = BlockList<T?>()

  deinit {
    values.removeAll()
  }

  override func restore(from start: Int) {
    // Removed from the log before anything is restored, because a restoration may run code of the user.
    var undone = removeEntries(from: start)
    for index in undone.indices {
      let entry = undone[index].entry
      let node = unsafeDowncast(entry.node.takeUnretainedValue(), to: EntityNode<T>.self)
      node.flags.remove(.recorded)
      if let value = undone[index].value {
        undone[index].value = node.restoreLeaf(value, entry.stamp)
      } else {
        node.becomeAbsent()
        node.setChildren([])
        node.stamp = .nan
      }
    }
    // The discarded values are released when the lock is free.
    undone.first?.entry.node.takeUnretainedValue().core.releaseLater(undone)
  }

  override func checkInvariants() {
    super.checkInvariants()
    values.checkInvariants()
    assert(values.count == entries.count, "The undo log has one former value for each entry.")
  }

  /// Removes the leaves from an index on, and returns them, the last first.
  private func removeEntries(from start: Int) -> [(entry: Entry, value: T?)] {
    var taken: [(entry: Entry, value: T?)] = []
    while entries.count > start, let entry = entries.removeLast(), let value = values.removeLast() {
      taken.append((entry, value))
    }
    return taken
  }

  override func clear() {
    super.clear()
    // Emptied first: the `deinit` of a value can use the store, and so the log.
    var former = values
    values = BlockList()
    former.removeAll()
  }
}

extension EntityTable {
  /// Records that a leaf did not exist. Only while an undo log exists.
  @inlinable func recordCreation(of node: EntityNode<T>) {
    record(nil, of: node)
  }

  /// Records the former value of a leaf.
  @inlinable func record(_ value: consuming T?, of node: EntityNode<T>) {
    if core.undo.openLeafLog !== leafLog { core.begin(leafLog) }
    leafLog.append(node)
    leafLog.values.append(value)
  }
}
