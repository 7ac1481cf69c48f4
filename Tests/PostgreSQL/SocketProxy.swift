import Foundation
import Synchronization
import Testing

/// Stands between a store and the server, on a Unix socket of its own, and loses what a test wants to be lost.
final class SocketProxy: Sendable {
  let directory: URL
  private let server: String
  private let listener: Int32
  private let state = Mutex(State())

  private struct State {
    /// After the client has sent this text, nothing of the server comes through any more.
    var trigger: Data?
    var isForGood = false
    var hasTriggered = false
    var isClosed = false
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

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(at: directory)
  }

  var hasLostAnswers: Bool { state.withLock { $0.hasTriggered } }

  /// Cuts the connection on which a text, with the zero that ends it, is sent as soon as the server has answered it.
  ///
  /// - Parameter forGood: Whether connections cannot be made any more from then on.
  func loseAnswers(after text: String, forGood: Bool = false) {
    state.withLock {
      $0.trigger = Data(text.utf8)
      $0.isForGood = forGood
    }
  }

  // MARK: Connections

  private func connect(_ client: Int32) {
    guard !state.withLock({ $0.isClosed }), let server = try? Self.socket(server, Foundation.connect) else {
      close(client)
      return
    }
    let isLosing = Flag()
    Thread.detachNewThread { [weak self] in
      Self.pump(from: client, to: server) { data in
        self?.look(at: data, isLosing)
        return true
      }
    }
    Thread.detachNewThread {
      Self.pump(from: server, to: client) { _ in !isLosing.isSet }
    }
  }

  private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
  }

  private func look(at data: Data, _ isLosing: Flag) {
    state.withLock { state in
      guard let trigger = state.trigger, data.range(of: trigger) != nil else { return }
      state.trigger = nil
      state.hasTriggered = true
      state.isClosed = state.isForGood
      isLosing.set()
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
