extension StoreCore {
  /// Runs operations that are undone, all of them, when they throw.
  func undoable<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // What cannot throw needs nothing to be kept for it.
    if E.self == Never.self { return try body() }
    let isOutermost = journal == nil
    if isOutermost { journal = UndoLog() } else { unmark() }
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
    let ended = journal
    journal = nil
    for table in tables.withQueries { table.keepQueries() }
    ended?.clearLogs()
  }

  /// How far everything has come that a rollback shortens.
  private struct Savepoint {
    let entries: Int
    let newlyObserved: Int
    let versions: Int
    let changed: Int
    let events: Int
    let history: History
    let records: Int
  }

  private var point: Savepoint {
    Savepoint(
      entries: journal?.entries.count ?? 0, newlyObserved: journal?.newlyObserved.count ?? 0,
      versions: journal?.versions.count ?? 0, changed: changed.count, events: aftermath.events.count, history: history,
      records: history.count)
  }

  /// From here on nodes are recorded anew.
  private func unmark() {
    closeLog()
    guard let journal else { return }
    for entry in journal.entries[journal.marked...] { entry.unmark() }
    journal.marked = journal.entries.count
  }

  private func rollBack(to start: Savepoint) {
    closeLog()
    guard let journal else { return }
    let undone = journal.entries[start.entries...]
    defer { withExtendedLifetime(undone) {} }
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
    tellNewObservers(since: start, journal)
    takeBackAbandoned()
  }

  /// Nobody is told of what did not happen.
  private func tellNobody(since start: Savepoint) {
    let untold = changed[start.changed...]
    changed.removeSubrange(start.changed...)
    for node in untold { node.flags.remove(.changed) }
    // A node that is out of date tells nobody a second time, because they have been told. These have not.
    for node in untold { refresh(node) }
    aftermath.events.removeSubrange(start.events...)
    if history === start.history { history.forget(from: start.records) }
  }

  /// Who was told of what did not happen is told what there is, and who knows it already is not.
  private func tellNewObservers(since start: Savepoint, _ journal: UndoLog) {
    var met: Set<ObjectIdentifier> = []
    for (node, version) in journal.versions[start.versions...] where met.insert(ObjectIdentifier(node)).inserted {
      for audience in node.relations?.audiences ?? [] { audience.skip(from: version, to: node.version) }
    }
    journal.versions.removeSubrange(start.versions...)
    // They stay in the journal: an outer transaction that is undone too forgets again that they are to be told.
    for node in journal.newlyObserved[start.newlyObserved...] { enqueue(node) }
  }

  /// A watched node is about to change.
  func noteVersion(of node: Node) {
    guard let relations = node.relations, relations.hasAudiences else { return }
    journal?.versions.append((node, node.version))
  }
}
