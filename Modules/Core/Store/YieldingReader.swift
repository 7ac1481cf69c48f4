import Synchronization

/// A reader able to give its connection up between two reads and continue in a later state of the store. A store that
/// runs short of connections takes them from idle readers, so that no caller waits for an idle connection.
///
/// A store whose readers never wait for one another needs none of this.
public protocol YieldingReader: StoreReader {
  /// The context's hold on the reader's state. A reader without a hold keeps its state.
  ///
  /// Set once, before the first read.
  var hold: StateHold? { get set }

  /// A number that rises with each state that the reader continues in.
  var stateNumber: Int { get }

  /// Offers the connection, in its present state, to the save that the calling thread begins. The reader is not read
  /// from any more, and ``StoreReader/finish()`` is called after the save. Until then the store may take the
  /// connection back.
  ///
  /// - Returns: `false` when the reader has nothing to offer. ``StoreReader/finish()`` is called at once then.
  func offerToSave() -> Bool
}

extension YieldingReader {
  public func offerToSave() -> Bool { false }
}

/// Says whether a context needs a reader to stay at its state: from the first read of a fetch, with what it loads along, to
/// the end of it, and from the first read of a snapshot to its end.
///
/// Taken and released by the context's owner alone; asked by anybody.
public final class StateHold: Sendable {
  private let isTaken = Atomic<Bool>(false)

  public init() {}

  /// Whether the reader may go on in a later state.
  public var isFree: Bool { !isTaken.load(ordering: .acquiring) }

  // A store asks under the lock that each read takes: a hold taken right after the question protects the next read.
  func take() { isTaken.store(true, ordering: .releasing) }
  func release() { isTaken.store(false, ordering: .releasing) }
}
