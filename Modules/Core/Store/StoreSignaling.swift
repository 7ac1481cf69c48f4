import Synchronization

/// A store with signals between all coordinators and processes of the store.
///
/// A signal has a channel and no content. It asks its listeners to read the store again. For a store without the
/// refinement, Core delivers signals between the coordinators of the process.
public protocol StoreSignaling: PersistentStore {
  /// Signals a channel. A save signals the channels of ``StoreSaveRequest/signals`` with its commit, without this call.
  ///
  /// - Parameter channel: A text of 1 to 200 bytes in UTF-8 without U+0000, as Core has checked.
  /// - Throws: ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``; errors of the store.
  func signal(_ channel: String) throws

  /// Calls a closure for each signal of a channel from now on, until the listening is cancelled or released.
  ///
  /// The first call means that the store listens. The store may make more calls than signals, and one call after the
  /// cancellation. After a lost connection, the store calls the closure when it listens again.
  ///
  /// - Parameters:
  ///   - channel: The channel. Core does not check the text here; no signal has an invalid channel.
  ///   - receive: Called on any thread. Must be quick, and must not use the store.
  /// - Throws: ``ErrorCode/storeDetached``. A server out of reach is no error: the store tries again.
  func listen(to channel: String, _ receive: @escaping @Sendable () -> Void) throws -> SignalListening
}

/// The registration of a closure as a listener of a channel. Releasing the registration cancels it.
public final class SignalListening: Sendable {
  private let end: Mutex<(@Sendable () -> Void)?>

  /// Makes a registration that runs a closure once, at its cancellation.
  public init(cancel: @escaping @Sendable () -> Void) { end = Mutex(cancel) }

  deinit { cancel() }

  /// Ends the registration. A second call does nothing. May be called on any thread.
  public func cancel() {
    let end = end.withLock { end in
      defer { end = nil }
      return end
    }
    end?()
  }
}
