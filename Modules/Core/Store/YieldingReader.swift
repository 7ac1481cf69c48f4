import Synchronization

/// A reader that lends its connection out between two reads when its store runs short of connections, and goes on in a
/// later state of the store. So nobody who has a connection keeps others waiting for it while doing something else.
///
/// A store whose readers never wait for one another needs none of this.
public protocol YieldingReader: StoreReader {
  /// What keeps the reader at its state while somebody needs one state. A reader without a hold keeps its state.
  ///
  /// Set once, before the first read.
  var hold: StateHold? { get set }

  /// Rises when the reader goes on in a later state.
  var stateNumber: Int { get }
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

  // Who is told that it is free, just before it is taken, has a lock that the next read takes too.
  func take() { isTaken.store(true, ordering: .releasing) }
  func release() { isTaken.store(false, ordering: .releasing) }
}
