import CoherenceCore
import Synchronization

/// A connectivity whose state the program sets: for a detection of its own, for a switch "work offline", and for tests.
///
/// ```swift
/// let connectivity = ManualConnectivity(isOnline: false)
/// connectivity.isOnline = true
/// ```
///
/// May be used from any thread.
public final class ManualConnectivity: Connectivity {
  private let state: Mutex<Bool>
  private let broadcast = Broadcast<Bool>()

  /// Makes a connectivity with a first state.
  public init(isOnline: Bool = true) { state = Mutex(isOnline) }

  deinit { broadcast.finish() }

  /// The present state. A new value is sent to all streams; an equal value is not.
  public var isOnline: Bool {
    get { state.withLock { $0 } }
    set {
      // Within the lock, so that all streams receive the changes in one order.
      state.withLock { state in
        guard state != newValue else { return }
        state = newValue
        broadcast.send { newValue }
      }
    }
  }

  public var changes: AsyncStream<Bool> { state.withLock { broadcast.makeStream(first: $0) } }
}
