/// What nodes were before a transaction, so that it can be rolled back.
final class UndoLog {
  var entries: [Entry] = []
  /// From where on the entries' nodes are marked as being in the journal.
  var marked = 0
  /// Nodes with observers that began in the transaction, or that wait for its end.
  var newlyObserved: [Node] = []
  /// Watched nodes that have changed, each with its version before.
  var versions: [(node: Node, version: UInt32)] = []

  enum Entry {
    case node(Node, restore: () -> Void)
    /// Something that is no node.
    case other(restore: () -> Void)
    /// Leaves that are in the log of their table.
    case leaves(AnyLeafUndoLog, Range<Int>)

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
  func clearLogs() {
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
  @usableFromInline func begin(_ log: AnyLeafUndoLog) {
    closeLog()
    journal?.entries.append(.leaves(log, log.count..<log.count))
    openLog = log
  }

  /// What comes next does not go with the leaves that were kept last.
  func closeLog() {
    guard let openLog else { return }
    self.openLog = nil
    guard let journal, case .leaves(let log, let range) = journal.entries.popLast() else { return }
    journal.entries.append(.leaves(log, range.lowerBound..<openLog.count))
  }
}
