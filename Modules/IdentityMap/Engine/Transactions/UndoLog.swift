/// The states of nodes before a transaction, for a rollback.
final class UndoLog {
  var entries: [Entry] = []
  /// The number of entries, from the first on, whose nodes are no longer flagged as recorded: entries from before a
  /// savepoint. An inner transaction records these nodes again, for a rollback to its own beginning.
  var unflaggedCount = 0
  /// Nodes whose observers are notified after a rollback: of observations that began in the transaction, and of
  /// deliveries that wait for its end.
  var notifiedAfterRollback: [Node] = []
  /// Changed nodes with observers, each with its version before the change. A rollback gives the restored value a new
  /// version; observers that know the value of the recorded version are not notified of it.
  var versions: [(node: Node, version: UInt32)] = []

  enum Entry {
    case node(Node, restore: () -> Void)
    /// State outside of the nodes.
    case other(restore: () -> Void)
    /// Leaves of one type: a range in the undo log of their table.
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
      // Entries are restored from the last on, so that the table's log ends with this range.
      case .leaves(let log, let range): log.restore(from: range.lowerBound)
      }
    }
  }

  /// Empties the undo logs of the tables at the end of the transaction.
  func clearLeafLogs() {
    for case .leaves(let log, _) in entries { log.clear() }
  }
}
