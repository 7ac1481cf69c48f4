/// A store whose readers know which state of the store they see. The coordinator caches rows for readers that see the
/// same state, see ``RowCachePolicy``.
///
/// The refinement does not pay for a store that has to ask a server for its state, because the question costs as much
/// as the read of a row.
public protocol StateMarking: PersistentStore {
  /// Returns the mark of the state that a reader sees until it is finished.
  ///
  /// For a new reader the call begins the unit of reading: rows that it reads later belong to the marked state.
  ///
  /// - Parameter reader: A reader that this store made.
  /// - Returns: `nil` if the reader's state is not known for certain.
  func stateMark(of reader: any StoreReader) throws -> StateMark?

  /// Saves as ``PersistentStore/save(_:)`` does, and reports the states before and after the save.
  ///
  /// - Parameter committed: Called at most once, after the commit, by the calling thread. Not called if another commit
  ///   may lie between the two states.
  func save(_ request: StoreSaveRequest, committed: (StateChange) -> Void) throws
}

/// A state of the records of a store. Two readers whose marks are equal read equal rows, with changes of all processes
/// between the two.
///
/// Marks of one store are compared as long as the store is attached, and never with marks of another store.
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
  /// The state that the save changed.
  public var from: StateMark
  /// The state that the save made.
  public var to: StateMark

  public init(from: StateMark, to: StateMark) {
    self.from = from
    self.to = to
  }
}
