/// A store whose readers can identify the state that they see. The coordinator caches rows for readers of the same
/// state, see ``RowCachePolicy``.
///
/// The refinement is useless for a store that must ask a server for its state, because the request costs as much as the
/// read of a row.
public protocol StateMarking: PersistentStore {
  /// Returns the mark of the state that a reader sees until it is finished.
  ///
  /// For a new reader the call fixes the state: rows read later belong to the marked state.
  ///
  /// - Parameter reader: A reader that this store made.
  /// - Returns: The mark; `nil` if the reader's state is unknown.
  func stateMark(of reader: any StoreReader) throws -> StateMark?

  /// Saves as ``PersistentStore/save(_:)`` does, and reports the states before and after the save.
  ///
  /// - Parameter committed: Called at most once, after the commit, by the calling thread. Not called if another commit
  ///   may lie between the two states.
  func save(_ request: StoreSaveRequest, committed: (StateChange) -> Void) throws
}

/// The identity of a state of a store's records. Two readers with equal marks read equal rows, even if other
/// processes have written between the two reads.
///
/// Marks are only compared with marks of the same store, while the store is attached.
public struct StateMark: Sendable, Hashable {
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64

  /// Makes a mark of up to three numbers, whose meaning only the store knows.
  public init(_ first: UInt64, _ second: UInt64 = 0, _ third: UInt64 = 0) {
    self.first = first
    self.second = second
    self.third = third
  }
}

/// The states before and after a save, with no other commit between them.
public struct StateChange: Sendable, Hashable {
  /// The state before the save.
  public var from: StateMark
  /// The state after the save.
  public var to: StateMark

  /// Makes a change from one state to another.
  public init(from: StateMark, to: StateMark) {
    self.from = from
    self.to = to
  }
}
