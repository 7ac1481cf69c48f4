import Synchronization

/// A reader that can release its connection between two reads and continue in a later state of the store. A store that
/// runs short of connections takes them from idle readers.
///
/// A store whose readers never wait for each other does not need the refinement.
public protocol YieldingReader: StoreReader {
  /// The context's request to stay in the reader's state. A reader without a hold always stays in its state.
  ///
  /// Set once, before the first read.
  var hold: StateHold? { get set }

  /// A number that rises with each state that the reader continues in.
  var stateNumber: Int { get }

  /// Offers the connection, in its present state, to the save that the calling thread begins. Core reads no more from
  /// the reader and calls ``StoreReader/finish()`` after the save. Until then the store may take the connection back.
  ///
  /// - Returns: `false` if the reader has no connection to offer. Core then calls ``StoreReader/finish()`` at once.
  func offerToSave() -> Bool
}

extension YieldingReader {
  /// Returns `false`: the default for readers that do not offer their connections.
  public func offerToSave() -> Bool { false }
}

/// A context's request that a reader stays in its state: from the first read of a fetch to the last read of its
/// prefetches, and from the first read of a snapshot to its end.
///
/// Only the context's owner takes and releases it; any thread may read it.
public final class StateHold: Sendable {
  private let isTaken: Atomic<Bool>
  /// Whether the hold lasts as long as the reader, beyond the units of work: for a stream, whose reader may stay open for
  /// long and is of no thread. Other readers must not wait for it.
  public let isLasting: Bool

  /// Makes a hold that is not taken.
  ///
  /// - Parameter isLasting: Whether the hold is taken now, and never released.
  public init(isLasting: Bool = false) {
    self.isLasting = isLasting
    isTaken = Atomic(isLasting)
  }

  /// Whether the reader may continue in a later state.
  public var isFree: Bool { !isLasting && !isTaken.load(ordering: .acquiring) }

  // A store asks under the lock that each read takes, so that a hold taken after the question protects the next read.
  func take() { isTaken.store(true, ordering: .releasing) }
  func release() { isTaken.store(false, ordering: .releasing) }
}
