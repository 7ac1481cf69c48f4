import Foundation
import Synchronization

/// A socket that accepts connections on a thread of its own.
///
/// The thread closes the socket. If another thread closed it, a socket made next could get its number before this thread
/// calls `accept` again, and this thread would take connections of that socket.
package final class ListeningSocket: Sendable {
  private let descriptor: Int32
  private let isOpen = Mutex(true)

  /// - Parameter descriptor: A socket that listens.
  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Accepts connections until the socket is stopped.
  ///
  /// - Parameter body: Called for each connection on the accepting thread. Returns whether the socket still accepts.
  package func accept(_ body: @escaping @Sendable (Int32) -> Bool) {
    Thread.detachNewThread { [self] in
      while case let connection = Foundation.accept(descriptor, nil, nil), connection >= 0, body(connection) {}
      isOpen.withLock {
        $0 = false
        close(descriptor)
      }
    }
  }

  /// Refuses connections from now on.
  package func stop() {
    isOpen.withLock { if $0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }
}
