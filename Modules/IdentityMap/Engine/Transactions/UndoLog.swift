/// The states of nodes before a transaction, for a rollback.
final class UndoLog {
  var entries: [Entry] = []
  /// The number of entries, from the first on, whose nodes are no longer flagged as recorded.
  var unflaggedCount = 0
  /// Nodes whose observers are notified after a rollback: of observations that began in the transaction, and of
  /// deliveries that wait for its end.
  var notifiedAfterRollback: [Node] = []
  /// Changed nodes with observers, each with its version before the change.
  var versions: [(node: Node, version: UInt32)] = []

  enum Entry {
    case node(Node, restore: () -> Void)
    /// State outside of the nodes.
    case other(restore: () -> Void)
    /// A range in the log of a table.
    case leaves(AnyLeafUndoLog, Range<Int>)

    func unflag() {
      switch self {
      case .node(let node, _): node.flags.remove(.recorded)
      case .other: break
      case .leaves(let log, let range): log.unflag(range)
      }
    }

    func restore() {
      switch self {
      case .node(_, let restore), .other(let restore): restore()
      case .leaves(let log, let range): log.restore(from: range.lowerBound)
      }
    }
  }

  /// Empties the logs of the tables, which belong to this log.
  func clearLogs() {
    for case .leaves(let log, _) in entries { log.clear() }
  }
}
