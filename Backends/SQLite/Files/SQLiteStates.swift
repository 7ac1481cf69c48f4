import CoherenceCore

/// The marks of a file's states, for all stores of the process with the file open to write: rows that were read in one
/// state stay cached for readers of a state with the same mark. The one writing connection of these stores has the log
/// open all the time, see ``SQLiteLogState``.
final class SQLiteStates: Sendable {
  let index: SQLiteLogIndex
  /// The latest state with the mark of an earlier one, because the commit between the two changed no rows of records.
  private let stateWithEarlierMark = Locked<(state: SQLiteLogState, mark: StateMark)?>(nil)

  init(_ index: SQLiteLogIndex) { self.index = index }

  /// The mark of a state, or of an earlier state with the same rows.
  func mark(of state: SQLiteLogState) -> StateMark {
    stateWithEarlierMark.withLock { $0?.state == state ? $0?.mark : nil } ?? state.mark
  }

  /// Returns the states before and after the transaction that the caller has just committed.
  ///
  /// - Parameters:
  ///   - former: The state at the beginning of the transaction, when no other connection could commit any more.
  ///   - hasWritten: Whether the transaction has certainly changed a page.
  /// - Returns: `nil` when another process may have committed in between.
  func change(since former: SQLiteLogState?, hasWritten: Bool) -> StateChange? {
    guard let former, let present = index.state, present.isNext(to: former, hasWritten: hasWritten) else { return nil }
    return StateChange(from: mark(of: former), to: mark(of: present))
  }

  /// Gives the state after a transaction the mark of the state before, because the transaction changed no rows of
  /// records.
  ///
  /// - Parameter former: The state at the beginning of the transaction, when no other connection could commit any more.
  func keepMark(since former: SQLiteLogState?) {
    guard let former, let present = index.state, present.isNext(to: former, hasWritten: true) else { return }
    let mark = mark(of: former)
    stateWithEarlierMark.withLock { $0 = (present, mark) }
  }
}
