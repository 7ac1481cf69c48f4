/// Transactions with a possible rollback: a savepoint at the beginning, and the restoration of all later entries of the
/// undo log.
extension StoreCore {
  /// Runs operations and rolls all of them back when they throw.
  func undoable<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // Without a possible error, nothing has to be recorded.
    if E.self == Never.self { return try body() }
    let isOutermost = undo.log == nil
    if isOutermost { undo.log = UndoLog() } else { unflag() }
    let start = savepoint
    defer {
      unflag()
      if isOutermost { endUndoLog() }
    }
    do {
      return try body()
    } catch {
      rollBack(to: start)
      throw error
    }
  }

  /// The recorded values are released last: their `deinit` can run code that uses the store.
  private func endUndoLog() {
    let ended = undo.log
    undo.log = nil
    for table in tables.withQueries { table.commitQueries() }
    ended?.clearLeafLogs()
  }

  /// The lengths of all lists that a rollback truncates, and the records that it restores.
  private struct Savepoint {
    let entries: Int
    let notifiedAfterRollback: Int
    let versions: Int
    let changed: Int
    let events: Int
    let changeLog: ChangeLog
    let records: ChangeLog.Content
  }

  private var savepoint: Savepoint {
    Savepoint(
      entries: undo.log?.entries.count ?? 0, notifiedAfterRollback: undo.log?.notifiedAfterRollback.count ?? 0,
      versions: undo.log?.versions.count ?? 0, changed: pending.changed.count, events: pending.deferred.events.count,
      changeLog: instrumentation.changeLog, records: instrumentation.changeLog.content)
  }

  /// Lets nodes be recorded again, for an inner transaction with a rollback of its own.
  private func unflag() {
    closeLeafLog()
    guard let log = undo.log else { return }
    for entry in log.entries[log.unflaggedCount...] { entry.unflag() }
    log.unflaggedCount = log.entries.count
  }

  private func rollBack(to start: Savepoint) {
    closeLeafLog()
    guard let log = undo.log else { return }
    let undone = log.entries[start.entries...]
    defer { withExtendedLifetime(undone) {} }
    log.entries.removeSubrange(start.entries...)
    log.unflaggedCount = min(log.unflaggedCount, start.entries)
    for entry in undone { entry.unflag() }
    // The restoration itself is not recorded.
    undo.log = nil
    undo.isRollingBack = true
    for entry in undone.reversed() { entry.restore() }
    undo.isRollingBack = false
    undo.log = log
    discardNotifications(since: start)
    for table in tables.withQueries { table.rerunNewQueries() }
    notifyNewObservers(since: start, log)
    revertAbandonedChanges()
  }

  /// Discards the notifications, the calls of the logger and the change records of rolled back changes.
  private func discardNotifications(since start: Savepoint) {
    let discarded = pending.removeChanged(from: start.changed)
    // A dirty node notifies its ancestors no more, because they count as notified. The discarded notifications must be
    // possible again, so the nodes are brought up to date.
    for node in discarded { bringUpToDate(node) }
    pending.removeEvents(from: start.events)
    if instrumentation.changeLog === start.changeLog { instrumentation.changeLog.restore(start.records) }
  }

  /// Notifies observers of the restored value when they have received a value of the transaction. Observers that know
  /// the restored value are not notified.
  private func notifyNewObservers(since start: Savepoint, _ log: UndoLog) {
    var seen: Set<ObjectIdentifier> = []
    for (node, version) in log.versions[start.versions...] where seen.insert(ObjectIdentifier(node)).inserted {
      for group in node.relations?.observerGroups ?? [] { group.skip(from: version, to: node.version) }
    }
    log.versions.removeSubrange(start.versions...)
    // The nodes stay in the log: a rollback of an outer transaction discards this notification, and has to repeat it.
    for node in log.notifiedAfterRollback[start.notifiedAfterRollback...] { pending.addChanged(node) }
  }

  /// Records the version of an observed node before a change.
  func noteVersion(of node: Node) {
    guard let relations = node.relations, relations.hasObservers else { return }
    undo.log?.versions.append((node, node.version))
  }
}
