/// A store whose readers know which state of the store they see. Rows read once need not be read again by a reader that
/// sees the same state: the coordinator keeps them, see ``RowCachePolicy``.
///
/// A store that needs an exchange with a server to find its state out has nothing to gain: the exchange costs what the read
/// of the row costs.
public protocol StateMarking: PersistentStore {
  /// The mark of the state that a reader sees, now and until it is finished.
  ///
  /// A fresh reader begins its unit of reading here: the rows that it reads later are of the marked state.
  ///
  /// - Parameter reader: A reader that this store made.
  /// - Returns: `nil` when it is not certain which state the reader sees.
  func stateMark(of reader: any StoreReader) throws -> StateMark?

  /// Saves as ``PersistentStore/save(_:)`` does, and says which states the save lies between.
  ///
  /// - Parameter committed: Called at most once, after the commit, by the calling thread. It is not called when another commit
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

  /// A mark of up to three numbers, which mean something to the store alone.
  public init(_ first: UInt64, _ second: UInt64 = 0, _ third: UInt64 = 0) {
    self.first = first
    self.second = second
    self.third = third
  }
}

/// The states that a save lies between, with no other commit between them.
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
