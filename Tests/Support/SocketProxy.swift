package import Foundation
import Synchronization

/// A Unix socket between a store and a PostgreSQL server. A test can make it lose, hold or change data.
///
/// The server may stop and start again. While it is stopped, the proxy refuses connections.
package final class SocketProxy: Sendable {
  package let directory: URL
  private let serverURL: URL
  private let serverPath: String
  private let listener: ListeningSocket
  private let state = Mutex(State())
  private let connections = Mutex<[Link]>([])
  /// Accepted connections without a link to the server.
  private let unserved = Mutex<[Int32]>([])

  private struct State {
    /// The text of a client that triggers the effect.
    var trigger: Data?
    var effect = Effect.fault(.loseAnswers)
    var isForGood = false
    var hasTriggered = false
    /// Whether new connections are refused.
    var isClosed = false
    /// Whether new connections are accepted and not served.
    var isStalled = false
  }

  /// The effect on the connection that sends the trigger.
  private enum Effect {
    case fault(Link.Fault)
    /// The server does not receive the text. The proxy calls the block, and then cuts the connection.
    case cut(@Sendable () -> Void)
    /// The server receives the text. The client receives some bytes instead of the reply, and nothing afterwards.
    case answer(Data)
  }

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Parameter url: The server's URL, with the directory of its socket as the host.
  package init(to url: URL) throws {
    // Writing to a closed socket is an error here, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
    guard let host = items.first(where: { $0.name == "host" })?.value else {
      throw Failure(description: "The URL has no directory of a socket as its host.")
    }
    serverURL = url
    serverPath = host + "/.s.PGSQL.5432"
    directory = URL(filePath: "/tmp/coherence-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let socket = try Self.socket(directory.path + "/.s.PGSQL.5432") { bind($0, $1, $2) }
    guard listen(socket, 64) == 0 else { throw POSIXError(.EIO) }
    listener = ListeningSocket(socket)
    listener.accept { [weak self] client in
      guard let self else {
        close(client)
        return false
      }
      self.connect(client)
      return true
    }
  }

  deinit {
    releaseAll()
    listener.stop()
    try? FileManager.default.removeItem(at: directory)
  }

  /// The server's URL with the proxy's socket.
  package var url: URL {
    var parts = URLComponents(url: serverURL, resolvingAgainstBaseURL: false)
    let items = (parts?.queryItems ?? []).filter { $0.name != "host" }
    parts?.queryItems = items + [URLQueryItem(name: "host", value: directory.path)]
    return parts?.url ?? serverURL
  }

  /// The open connections, the oldest first.
  package var links: [Link] { connections.withLock { $0 } }

  /// Refuses connections from now on, like a stopped server. Keeps open connections.
  package func refuse() {
    state.withLock { $0.isClosed = true }
    listener.stop()
    unlink(directory.path + "/.s.PGSQL.5432")
  }

  /// Cuts every connection.
  package func releaseAll() {
    for link in links { link.cut() }
    for client in unserved.withLock({ clients in
      defer { clients = [] }
      return clients
    }) { close(client) }
  }

  // MARK: Triggers

  /// Whether a client has sent the trigger.
  package var hasTriggered: Bool { state.withLock { $0.hasTriggered } }

  /// Waits for a text, which must include its terminating zero, and cuts its connection at the reply of the server.
  ///
  /// - Parameter forGood: Whether the proxy refuses all connections from then on.
  package func loseAnswers(after text: String, forGood: Bool = false) {
    arm(text, .fault(.loseAnswers), forGood: forGood)
  }

  /// Waits for a text, and then passes nothing on its connection in either direction, not even the end.
  ///
  /// - Parameters:
  ///   - reachesServer: Whether the server still receives the text.
  ///   - forGood: Whether the proxy accepts later connections without serving them.
  package func stall(at text: String, reachesServer: Bool = false, forGood: Bool = false) {
    arm(text, .fault(reachesServer ? .holdAnswers : .holdAll), forGood: forGood)
  }

  /// Withholds a text from the server, calls a block while the client waits, and cuts the connection.
  package func cut(at text: String, after body: @escaping @Sendable () -> Void) { arm(text, .cut(body)) }

  /// Replaces the server's reply to a text by some bytes, and sends nothing afterwards.
  package func answer(_ text: String, with bytes: Data) { arm(text, .answer(bytes)) }

  private func arm(_ text: String, _ effect: Effect, forGood: Bool = false) {
    state.withLock {
      $0.trigger = Data(text.utf8)
      $0.effect = effect
      $0.isForGood = forGood
      $0.hasTriggered = false
    }
  }

  private func look(at data: Data, of link: Link) {
    let effect: Effect? = state.withLock { state in
      guard let trigger = state.trigger, data.range(of: trigger) != nil else { return nil }
      state.trigger = nil
      state.hasTriggered = true
      switch state.effect {
      case .fault(.holdAnswers), .fault(.holdAll): state.isStalled = state.isForGood
      default: state.isClosed = state.isForGood
      }
      return state.effect
    }
    switch effect {
    case nil: break
    case .fault(let fault): link.befall(fault)
    case .cut(let body):
      link.hold([.toClient])
      body()
      link.cut()
    case .answer(let bytes):
      link.befall(.holdAnswers)
      link.sendToClient(bytes)
    }
  }

  // MARK: Connections

  private func connect(_ client: Int32) {
    let (isClosed, isStalled) = state.withLock { ($0.isClosed, $0.isStalled) }
    if isStalled { return unserved.withLock { $0.append(client) } }
    guard !isClosed, let server = try? Self.socket(serverPath, Foundation.connect) else {
      close(client)
      return
    }
    let link = Link(client: client, server: server)
    connections.withLock { $0.append(link) }
    link.start(
      look: { [weak self] data in self?.look(at: data, of: link) },
      end: { [weak self] in self?.connections.withLock { $0.removeAll { $0 === link } } })
  }

  private static func socket(
    _ path: String, _ attach: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws -> Int32 {
    #if canImport(Glibc)
      let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = Foundation.socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) { pointer in
      // Safety of `withMemoryRebound`: every address of a socket begins with the fields of `sockaddr`.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        attach(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw POSIXError(.ECONNREFUSED)
    }
    return descriptor
  }
}
