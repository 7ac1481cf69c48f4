/// Whether the program can reach the network, or the servers that matter to its actions.
///
/// - ``AlwaysOnline`` is the default of everything that takes a connectivity.
/// - ``ManualConnectivity`` has the state that the program sets, for detections of its own and for tests.
/// - `ProbeConnectivity` of `CoherenceHTTP` sends a request to an address.
/// - `SystemConnectivity` follows the platform's monitor, on platforms with the framework Network.
///
/// A connectivity is a hint: a request may fail while the state is online, and work that waits for the state must still
/// expect failures.
public protocol Connectivity: Sendable {
  /// The present state. May be read from any thread, and returns at once.
  var isOnline: Bool { get }

  /// A new stream: first the present state, then each change in order. The stream keeps every change until it is read, and
  /// ends when no change can follow, at the latest with the release of the connectivity.
  var changes: AsyncStream<Bool> { get }

  /// Reports a request that failed as if the server could not be reached, so that a connectivity may ask the server
  /// itself. Outboxes and refreshers report such failures while the state is online. May be called from any thread, and
  /// returns at once. Does nothing by default.
  func noteFailure()
}

extension Connectivity {
  /// Does nothing.
  public func noteFailure() {}

  /// Waits for the state online. Returns at once while the state is online.
  ///
  /// - Throws: `CancellationError` when the task is cancelled, or the connectivity is released while offline.
  public func waitUntilOnline() async throws {
    for await isOnline in changes where isOnline { return }
    throw CancellationError()
  }
}

/// A connectivity without an offline state. Its streams end after the first element.
public struct AlwaysOnline: Connectivity {
  /// Makes the connectivity.
  public init() {}

  public var isOnline: Bool { true }

  public var changes: AsyncStream<Bool> {
    AsyncStream { continuation in
      continuation.yield(true)
      continuation.finish()
    }
  }
}

extension Connectivity where Self == AlwaysOnline {
  /// The connectivity without an offline state.
  public static var alwaysOnline: AlwaysOnline { AlwaysOnline() }
}
