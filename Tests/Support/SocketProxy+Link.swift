import Foundation
import Synchronization

extension SocketProxy {
  /// One connection through a proxy.
  package final class Link: Sendable {
    /// The fault of a connection at the next data of its client.
    package enum Fault: Sendable, CaseIterable {
      /// The server does not receive the data, and the proxy cuts the connection.
      case cut
      /// The server receives the text, and the proxy cuts the connection when the server responds.
      case loseAnswers
      /// The server does not receive the data. From then on, the proxy passes nothing in either direction, not even the
      /// end.
      case holdAll
      /// The server receives the data. From then on, the proxy passes nothing in either direction, not even the end.
      case holdAnswers
    }

    enum Direction { case toServer, toClient }

    private struct State {
      var held: Set<Direction> = []
      var cut: Set<Direction> = []
      /// Whether data of the client is held, beginning with its next message.
      var holdsNext = false
      /// The number of messages from the client. Bytes of one read count as one message.
      var messages = 0
      var armed: (message: Int, fault: Fault, notify: @Sendable () -> Void)?
      /// The number of threads that use the sockets.
      var users = 2
    }

    private let client: Int32
    private let server: Int32
    private let state = Mutex(State())
    private let release = DispatchSemaphore(value: 0)

    init(client: Int32, server: Int32) {
      self.client = client
      self.server = server
    }

    /// The number of messages that the client has sent so far.
    package var messages: Int { state.withLock { $0.messages } }

    /// Injects a fault after some more messages of the client.
    ///
    /// - Parameters:
    ///   - count: The number of messages that the proxy still passes.
    ///   - notify: Called on a thread of the proxy when the fault has taken effect.
    package func fail(by fault: Fault, after count: Int, notify: @escaping @Sendable () -> Void) {
      state.withLock { $0.armed = ($0.messages + count, fault, notify) }
    }

    /// Cuts the connection, held or not, and cancels the pending fault.
    package func cut() {
      state.withLock { state in
        state.armed = nil
        state.held = []
        state.holdsNext = false
        state.cut = [.toServer, .toClient]
        // The system may have given the numbers of closed sockets to other files.
        guard state.users > 0 else { return }
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
      }
      release.signal()
    }

    // MARK: For the proxy

    func befall(_ fault: Fault) {
      state.withLock { state in
        switch fault {
        case .cut: state.cut = [.toServer, .toClient]
        case .loseAnswers: state.cut.insert(.toClient)
        case .holdAll: state.held = [.toServer, .toClient]
        case .holdAnswers:
          state.held.insert(.toClient)
          state.holdsNext = true
        }
      }
    }

    func hold(_ directions: Set<Direction>) { state.withLock { $0.held.formUnion(directions) } }

    func sendToClient(_ bytes: Data) {
      _ = bytes.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
    }

    /// Copies in both directions until one side closes, on two threads.
    ///
    /// - Parameters:
    ///   - look: Called with the client's data before the server receives it.
    ///   - end: Called when both sockets are closed.
    func start(look: @escaping @Sendable (Data) -> Void, end: @escaping @Sendable () -> Void) {
      Thread.detachNewThread {
        self.copy(.toServer) { data in
          self.noteMessage()
          look(data)
        }
        self.leave(end)
      }
      Thread.detachNewThread {
        self.copy(.toClient) { _ in }
        self.leave(end)
      }
    }

    private func copy(_ direction: Direction, _ look: (Data) -> Void) {
      let (source, target) = direction == .toServer ? (client, server) : (server, client)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(source, &buffer, buffer.count)
        if count > 0 { look(Data(buffer[..<count])) }
        // The end of a connection is held as well.
        waitWhileHeld(direction)
        guard count > 0, !isCut(direction), write(target, buffer, count) == count else { break }
        holdNext(direction)
      }
      shutdown(source, Int32(SHUT_RDWR))
      shutdown(target, Int32(SHUT_RDWR))
    }

    private func noteMessage() {
      let due: (fault: Fault, notify: @Sendable () -> Void)? = state.withLock { state in
        defer { state.messages += 1 }
        guard let armed = state.armed, state.messages >= armed.message else { return nil }
        state.armed = nil
        return (armed.fault, armed.notify)
      }
      guard let due else { return }
      befall(due.fault)
      due.notify()
    }

    private func isCut(_ direction: Direction) -> Bool { state.withLock { $0.cut.contains(direction) } }

    private func holdNext(_ direction: Direction) {
      state.withLock { state in
        if direction == .toServer, state.holdsNext { state.held.insert(.toServer) }
      }
    }

    /// Waits until the connection is cut if its direction is held. Returns at once otherwise.
    private func waitWhileHeld(_ direction: Direction) {
      guard state.withLock({ $0.held.contains(direction) }) else { return }
      release.wait()
      // The other direction may wait as well.
      release.signal()
    }

    private func leave(_ end: () -> Void) {
      let isLast = state.withLock { state in
        state.users -= 1
        guard state.users == 0 else { return false }
        close(client)
        close(server)
        return true
      }
      if isLast { end() }
    }
  }
}
