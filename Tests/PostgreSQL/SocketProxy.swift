import Foundation
import Synchronization
import Testing

/// Stands between a store and the server, on a Unix socket of its own, and loses or holds what a test wants to be lost
/// or held.
final class SocketProxy: Sendable {
  let directory: URL
  private let server: String
  private let listener: Int32
  private let state = Mutex(State())
  private let fates = Mutex<[Fate]>([])
  /// Connections that were accepted and are never served.
  private let held = Mutex<[Int32]>([])

  private struct State {
    /// After the client has sent this text, nothing of the server comes through any more.
    var trigger: Data?
    var effect = Effect.loseAnswers
    var isForGood = false
    var hasTriggered = false
    var isClosed = false
    /// Whether new connections are held as well.
    var isStalled = false
  }

  /// What becomes of the connection on which the trigger is sent.
  private enum Effect {
    /// The server gets the text; the connection is cut when it answers.
    case loseAnswers
    /// The server gets the text; nothing comes back, and nothing is cut.
    case holdAnswers
    /// The server does not get the text; nothing comes back, and nothing is cut.
    case holdAll
    /// The server does not get the text; the block is called, then the connection is cut.
    case cut(@Sendable () -> Void)
  }

  /// - Parameter url: The server's URL, with the directory of its socket as the host.
  init(to url: URL) throws {
    // Writing to a closed socket is an error here, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
    let host = try #require(items.first { $0.name == "host" }?.value)
    server = host + "/.s.PGSQL.5432"
    directory = URL(filePath: "/tmp/coherence-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    listener = try Self.socket(directory.path + "/.s.PGSQL.5432") { bind($0, $1, $2) }
    guard listen(listener, 16) == 0 else { throw POSIXError(.EIO) }
    let listener = listener
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0, let self else { return }
        self.connect(client)
      }
    }
  }

  /// Closes every connection that is held, on both sides.
  func releaseAll() {
    for fate in fates.withLock({ $0 }) { fate.release() }
    for client in held.withLock({ clients in
      defer { clients = [] }
      return clients
    }) { close(client) }
  }

  deinit {
    releaseAll()
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(at: directory)
  }

  /// Whether the text was sent that the proxy waited for.
  var hasTriggered: Bool { state.withLock { $0.hasTriggered } }

  /// Cuts the connection on which a text, with the zero that ends it, is sent as soon as the server has answered it.
  ///
  /// - Parameter forGood: Whether connections cannot be made any more from then on.
  func loseAnswers(after text: String, forGood: Bool = false) {
    arm(text, .loseAnswers, forGood: forGood)
  }

  /// Lets nothing more through, in either direction, on the connection on which a text is sent.
  ///
  /// - Parameters:
  ///   - reachesServer: Whether the server still gets the text.
  ///   - forGood: Whether connections made from then on are accepted and never served.
  func stall(at text: String, reachesServer: Bool = false, forGood: Bool = false) {
    arm(text, reachesServer ? .holdAnswers : .holdAll, forGood: forGood)
  }

  /// Keeps a text from the server, calls a block, and cuts the connection on which the text was sent.
  func cut(at text: String, after body: @escaping @Sendable () -> Void) { arm(text, .cut(body), forGood: false) }

  private func arm(_ text: String, _ effect: Effect, forGood: Bool) {
    state.withLock {
      $0.trigger = Data(text.utf8)
      $0.effect = effect
      $0.isForGood = forGood
    }
  }

  // MARK: Connections

  private func connect(_ client: Int32) {
    let (isClosed, isStalled) = state.withLock { ($0.isClosed, $0.isStalled) }
    if isStalled { return held.withLock { $0.append(client) } }
    guard !isClosed, let server = try? Self.socket(server, Foundation.connect) else {
      close(client)
      return
    }
    let fate = Fate()
    Thread.detachNewThread { [weak self] in
      Self.pump(from: client, to: server) { data in
        self?.look(at: data, fate)
        fate.wait(.toServer)
        return !fate.isCut(.toServer)
      }
    }
    Thread.detachNewThread {
      Self.pump(from: server, to: client) { _ in
        fate.wait(.toClient)
        return !fate.isCut(.toClient)
      }
    }
    fates.withLock { $0.append(fate) }
  }

  private enum Direction { case toServer, toClient }

  /// What a connection has come to.
  private final class Fate: Sendable {
    private struct State {
      var held: Set<Direction> = []
      var cut: Set<Direction> = []
    }
    private let state = Mutex(State())
    private let end = DispatchSemaphore(value: 0)

    func isCut(_ direction: Direction) -> Bool { state.withLock { $0.cut.contains(direction) } }
    func cut(_ direction: Direction) { state.withLock { _ = $0.cut.insert(direction) } }
    func hold(_ directions: Set<Direction>) { state.withLock { $0.held = directions } }

    /// Returns at once, or when the connection is released where its direction is held.
    func wait(_ direction: Direction) {
      if state.withLock({ $0.held.contains(direction) }) {
        end.wait()
        end.signal()
      }
    }

    func release() {
      state.withLock { $0 = State(held: [], cut: [.toServer, .toClient]) }
      end.signal()
    }
  }

  private func look(at data: Data, _ fate: Fate) {
    let effect: Effect? = state.withLock { state in
      guard let trigger = state.trigger, data.range(of: trigger) != nil else { return nil }
      state.trigger = nil
      state.hasTriggered = true
      switch state.effect {
      case .loseAnswers, .cut: state.isClosed = state.isForGood
      case .holdAnswers, .holdAll: state.isStalled = state.isForGood
      }
      return state.effect
    }
    switch effect {
    case nil: break
    case .loseAnswers: fate.cut(.toClient)
    case .holdAnswers: fate.hold([.toClient])
    case .holdAll: fate.hold([.toServer, .toClient])
    case .cut(let body):
      body()
      fate.cut(.toServer)
    }
  }

  /// Copies until one side closes or the block refuses; then both are closed.
  private static func pump(from source: Int32, to target: Int32, _ passes: (Data) -> Bool) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0, passes(Data(buffer[..<count])), write(target, buffer, count) == count else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  // MARK: Sockets

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
