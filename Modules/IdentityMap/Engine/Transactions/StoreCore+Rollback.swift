extension StoreCore {
  /// Runs operations that are undone, all of them, when they throw.
  func undoable<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // What cannot throw needs nothing to be kept for it.
    if E.self == Never.self { return try body() }
    let isOutermost = undoLog == nil
    if isOutermost { undoLog = UndoLog() } else { unmark() }
    let start = point
    defer {
      unmark()
      if isOutermost { endJournal() }
    }
    do {
      return try body()
    } catch {
      rollBack(to: start)
      throw error
    }
  }

  /// What was kept goes last: its end can run code that uses the store.
  private func endJournal() {
    let ended = undoLog
    undoLog = nil
    for table in tables.withQueries { table.commitQueries() }
    ended?.clearLogs()
  }

  /// How far everything has come that a rollback shortens.
  private struct Savepoint {
    let entries: Int
    let newlyObserved: Int
    let versions: Int
    let changed: Int
    let events: Int
    let history: ChangeHistory
    let records: Int
  }

  private var point: Savepoint {
    Savepoint(
      entries: undoLog?.entries.count ?? 0, newlyObserved: undoLog?.newlyObserved.count ?? 0,
      versions: undoLog?.versions.count ?? 0, changed: changed.count, events: deferred.events.count, history: history,
      records: history.count)
  }

  /// From here on nodes are recorded anew.
  private func unmark() {
    closeLeafLog()
    guard let undoLog else { return }
    for entry in undoLog.entries[undoLog.marked...] { entry.unmark() }
    undoLog.marked = undoLog.entries.count
  }

  private func rollBack(to start: Savepoint) {
    closeLeafLog()
    guard let undoLog else { return }
    let undone = undoLog.entries[start.entries...]
    defer { withExtendedLifetime(undone) {} }
    undoLog.entries.removeSubrange(start.entries...)
    undoLog.marked = min(undoLog.marked, start.entries)
    for entry in undone { entry.unmark() }
    // What is put back is not written down again.
    self.undoLog = nil
    isRollingBack = true
    for entry in undone.reversed() { entry.restore() }
    isRollingBack = false
    self.undoLog = undoLog
    discardNotifications(since: start)
    for table in tables.withQueries { table.rerunNewQueries() }
    notifyNewObservers(since: start, undoLog)
    revertAbandonedChanges()
  }

  /// Nobody is told of what did not happen.
  private func discardNotifications(since start: Savepoint) {
    let untold = changed[start.changed...]
    changed.removeSubrange(start.changed...)
    for node in untold { node.flags.remove(.changed) }
    // A node that is out of date tells nobody a second time, because they have been told. These have not.
    for node in untold { refresh(node) }
    deferred.events.removeSubrange(start.events...)
    if history === start.history { history.forget(from: start.records) }
  }

  /// Who was told of what did not happen is told what there is, and who knows it already is not.
  private func notifyNewObservers(since start: Savepoint, _ undoLog: UndoLog) {
    var met: Set<ObjectIdentifier> = []
    for (node, version) in undoLog.versions[start.versions...] where met.insert(ObjectIdentifier(node)).inserted {
      for group in node.relations?.observerGroups ?? [] { group.skip(from: version, to: node.version) }
    }
    undoLog.versions.removeSubrange(start.versions...)
    // They stay in the journal: an outer transaction that is undone too forgets again that they are to be told.
    for node in undoLog.newlyObserved[start.newlyObserved...] { enqueue(node) }
  }

  /// A watched node is about to change.
  func noteVersion(of node: Node) {
    guard let relations = node.relations, relations.hasObservers else { return }
    undoLog?.versions.append((node, node.version))
  }
}
