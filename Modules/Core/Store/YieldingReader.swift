import Synchronization

/// A reader that can lose its connection between two reads and continue in a later state of the store. A store without
/// a free connection takes the connections of idle readers.
///
/// Not needed for a store whose readers never wait for each other.
public protocol YieldingReader: StoreReader {
  /// The context's request to stay in the present state. While the hold is free, the reader may continue in a later
  /// state. A reader whose hold is `nil` stays in its state until it is finished.
  ///
  /// Set once, before the first read.
  var hold: StateHold? { get set }

  /// A number that rises each time the reader continues in a later state.
  var stateNumber: Int { get }

  /// Offers the connection to the save that the calling thread begins. Core no longer reads from the reader, and calls
  /// ``StoreReader/finish()`` after the save. Until then the store may take the connection back.
  ///
  /// - Returns: `false` if the reader has no connection to offer. Core then calls ``StoreReader/finish()`` at once.
  func offerToSave() -> Bool
}

extension YieldingReader {
  /// Returns `false`: the default for readers that do not offer their connections.
  public func offerToSave() -> Bool { false }
}

/// A reader whose state can end with a failed read, such as the read of a cancelled task.
package protocol StateLosingReader: StoreReader {
  /// Whether a failed read has ended the state, so that all further reads fail.
  var hasLostState: Bool { get }
}

/// A context's request that a reader stays in its state: from the first read of a fetch to the last read of its
/// prefetches, and from the first read of a snapshot to its end.
///
/// Only the thread that owns the context takes and releases the hold; any thread may read ``isFree``.
public final class StateHold: Sendable {
  private let isTaken: Atomic<Bool>
  /// Whether the hold lasts as long as its reader. A stream's reader outlives units of work and may stay open for long,
  /// so that other readers must not wait for it.
  public let isLasting: Bool

  /// Makes a hold, which is free unless it lasts as long as its reader.
  ///
  /// - Parameter isLasting: Whether the hold is taken at once, and never released.
  public init(isLasting: Bool = false) {
    self.isLasting = isLasting
    isTaken = Atomic(isLasting)
  }

  /// Whether the reader may continue in a later state.
  public var isFree: Bool { !isLasting && !isTaken.load(ordering: .acquiring) }

  // A store reads `isFree` under the lock that each read of the reader takes. So a hold taken afterwards protects the
  // next read.
  /// Asks the reader to stay in its present state.
  func take() { isTaken.store(true, ordering: .releasing) }
  /// Lets the reader continue in a later state.
  func release() { isTaken.store(false, ordering: .releasing) }
}
