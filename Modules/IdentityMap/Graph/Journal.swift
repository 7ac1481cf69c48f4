/// What nodes were before a transaction, so that it can be rolled back.
final class Journal {
  fileprivate var entries: [Entry] = []
  /// From where on the entries' nodes are marked as being in the journal.
  fileprivate var marked = 0

  fileprivate enum Entry {
    case node(Node, restore: () -> Void)
    /// Leaves that are in the log of their table.
    case leaves(AnyLeafLog, Range<Int>)

    func unmark() {
      switch self {
      case .node(let node, _): node.flags.remove(.journaled)
      case .leaves(let log, let range): log.unmark(range)
      }
    }

    func restore() {
      switch self {
      case .node(_, let restore): restore()
      case .leaves(let log, let range): log.restore(from: range.lowerBound)
      }
    }
  }

  /// Every log ends where this journal began.
  fileprivate func clearLogs() {
    for case .leaves(let log, _) in entries { log.clear() }
  }
}

extension StoreCore {
  /// Keeps what a node is now, if it has not been kept in this transaction.
  func record(_ node: Node) {
    guard let journal, !node.flags.contains(.journaled) else { return }
    closeLog()
    node.flags.insert(.journaled)
    journal.entries.append(.node(node, restore: node.snapshot()))
  }

  // MARK: Leaves

  /// From here on leaves are kept in a table's log.
  @usableFromInline func begin(_ log: AnyLeafLog) {
    closeLog()
    journal?.entries.append(.leaves(log, log.count..<log.count))
    openLog = log
  }

  /// What comes next does not go with the leaves that were kept last.
  private func closeLog() {
    guard let openLog else { return }
    self.openLog = nil
    guard let journal, case .leaves(let log, let range) = journal.entries.popLast() else { return }
    journal.entries.append(.leaves(log, range.lowerBound..<openLog.count))
  }

  // MARK: Transactions

  /// Runs operations that are undone, all of them, when they throw.
  func undoable<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // What cannot throw needs nothing to be kept for it.
    if E.self == Never.self { return try body() }
    let isOutermost = journal == nil
    if isOutermost { journal = Journal() } else { unmark() }
    let start = journal?.entries.count ?? 0
    let changedBefore = changed.count
    defer {
      unmark()
      if isOutermost {
        journal?.clearLogs()
        journal = nil
      }
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
    closeLog()
    guard let journal else { return }
    for entry in journal.entries[journal.marked...] { entry.unmark() }
    journal.marked = journal.entries.count
  }

  private func rollBack(to start: Int, changedBefore: Int) {
    closeLog()
    guard let journal else { return }
    let undone = journal.entries[start...]
    journal.entries.removeSubrange(start...)
    journal.marked = min(journal.marked, start)
    for entry in undone { entry.unmark() }
    // What is put back is not written down again.
    self.journal = nil
    for entry in undone.reversed() { entry.restore() }
    self.journal = journal
    // Nobody is told of what did not happen.
    for node in changed[changedBefore...] { node.flags.remove(.changed) }
    changed.removeSubrange(changedBefore...)
  }
}

/// A node that can stop standing for something, while it is still held.
protocol Removable {
  func becomeVacant()
}
