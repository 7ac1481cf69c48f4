/// What nodes were before a transaction, so that it can be rolled back.
final class Journal {
  fileprivate var entries: [Entry] = []
  /// From where on the entries' nodes are marked as being in the journal.
  fileprivate var marked = 0
  /// Nodes with observers that began in the transaction.
  var newlyObserved: [Node] = []

  fileprivate enum Entry {
    case node(Node, restore: () -> Void)
    /// Something that is no node.
    case other(restore: () -> Void)
    /// Leaves that are in the log of their table.
    case leaves(AnyLeafLog, Range<Int>)

    func unmark() {
      switch self {
      case .node(let node, _): node.flags.remove(.journaled)
      case .other: break
      case .leaves(let log, let range): log.unmark(range)
      }
    }

    func restore() {
      switch self {
      case .node(_, let restore), .other(let restore): restore()
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

  /// Keeps how something is put back that is no node.
  func record(restore: @escaping () -> Void) {
    guard let journal else { return }
    closeLog()
    journal.entries.append(.other(restore: restore))
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
    let start = point
    defer {
      unmark()
      if isOutermost {
        journal?.clearLogs()
        journal = nil
        for table in tables.withQueries { table.keepQueries() }
      }
    }
    do {
      return try body()
    } catch {
      rollBack(to: start)
      throw error
    }
  }

  /// How far everything has come that a rollback shortens.
  private struct Point {
    let entries: Int
    let newlyObserved: Int
    let changed: Int
    let events: Int
    let history: History
    let records: Int
  }

  private var point: Point {
    Point(
      entries: journal?.entries.count ?? 0, newlyObserved: journal?.newlyObserved.count ?? 0, changed: changed.count,
      events: aftermath.events.count, history: history, records: history.count)
  }

  /// From here on nodes are recorded anew.
  private func unmark() {
    closeLog()
    guard let journal else { return }
    for entry in journal.entries[journal.marked...] { entry.unmark() }
    journal.marked = journal.entries.count
  }

  private func rollBack(to start: Point) {
    closeLog()
    guard let journal else { return }
    let undone = journal.entries[start.entries...]
    journal.entries.removeSubrange(start.entries...)
    journal.marked = min(journal.marked, start.entries)
    for entry in undone { entry.unmark() }
    // What is put back is not written down again.
    self.journal = nil
    isRollingBack = true
    for entry in undone.reversed() { entry.restore() }
    isRollingBack = false
    self.journal = journal
    tellNobody(since: start)
    for table in tables.withQueries { table.redoNewQueries() }
    // Who was told of what did not happen is told what there is.
    for node in journal.newlyObserved[start.newlyObserved...] { enqueue(node) }
    journal.newlyObserved.removeSubrange(start.newlyObserved...)
    takeBackAbandoned()
  }

  /// Nobody is told of what did not happen.
  private func tellNobody(since start: Point) {
    let untold = changed[start.changed...]
    changed.removeSubrange(start.changed...)
    for node in untold { node.flags.remove(.changed) }
    // A node that is out of date tells nobody a second time, because they have been told. These have not.
    for node in untold { refresh(node) }
    aftermath.events.removeSubrange(start.events...)
    if history === start.history { history.forget(from: start.records) }
  }
}

/// A node that can stop standing for something, while it is still held.
protocol Removable {
  func becomeVacant()
}
