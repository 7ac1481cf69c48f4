/// Recording in the undo log before a change. Only a transaction with a possible rollback has a log; otherwise nothing
/// is recorded.
extension StoreCore {
  /// Records the state of a node, once in a transaction.
  func record(_ node: Node) {
    guard let log = undo.log, !node.flags.contains(.recorded) else { return }
    closeLeafLog()
    node.flags.insert(.recorded)
    log.entries.append(.node(node, restore: node.makeRestoration()))
  }

  /// Records a closure that restores state outside of the nodes.
  func record(restore: @escaping () -> Void) {
    guard let log = undo.log else { return }
    closeLeafLog()
    log.entries.append(.other(restore: restore))
  }

  // MARK: Leaves

  /// Has the following leaves recorded in the log of a table.
  @usableFromInline func begin(_ leafLog: AnyLeafUndoLog) {
    closeLeafLog()
    undo.log?.entries.append(.leaves(leafLog, leafLog.count..<leafLog.count))
    undo.openLeafLog = leafLog
  }

  /// Ends the range of leaves at the end of the log, so that the next entry is restored before them.
  func closeLeafLog() {
    guard let openLeafLog = undo.openLeafLog else { return }
    undo.openLeafLog = nil
    guard let log = undo.log, case .leaves(let leafLog, let range) = log.entries.popLast() else { return }
    log.entries.append(.leaves(leafLog, range.lowerBound..<openLeafLog.count))
  }
}
