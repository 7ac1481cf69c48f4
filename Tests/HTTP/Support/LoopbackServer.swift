import Foundation
import Synchronization
import TestSupport
import Testing

/// A server on the loopback interface whose replies a test writes byte by byte: complete, truncated, or none.
final class LoopbackServer: Sendable {
  let url: URL
  private let listener: ListeningSocket
  private let log: RequestLog

  /// - Parameter handler: Called on a thread of its own for each connection, with its one request. The connection is
  ///   closed when the function returns.
  convenience init(_ handler: @escaping @Sendable (ReceivedRequest, Connection) -> Void) throws {
    let log = RequestLog()
    try self.init(log: log) { connection in
      guard let request = connection.receive() else { return }
      log.requests.withLock { $0.append(request) }
      handler(request, connection)
    }
  }

  /// - Parameter handler: Called on a thread of its own for each connection, before anything is read from it.
  convenience init(raw handler: @escaping @Sendable (Connection) -> Void) throws {
    try self.init(log: RequestLog(), handler)
  }

  private init(log: RequestLog, _ handler: @escaping @Sendable (Connection) -> Void) throws {
    self.log = log
    // Makes writing to a closed socket an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    let socket = Self.makeSocket()
    let port = try Self.listen(on: socket)
    url = try #require(URL(string: "http://127.0.0.1:\(port)"))
    listener = ListeningSocket(socket)
    listener.accept { connection in
      Thread.detachNewThread { handler(Connection(connection)) }
      return true
    }
  }

  /// Makes a server that replies to each request with the next of the given replies, and repeats the last one.
  convenience init(replies: [ScriptedReply]) throws {
    let next = Atomic<Int>(0)
    try self.init { _, connection in
      let number = next.add(1, ordering: .relaxed).oldValue
      connection.send(replies[min(number, replies.count - 1)])
    }
  }

  deinit { listener.stop() }

  /// The requests received so far.
  var requests: [ReceivedRequest] { log.requests.withLock { $0 } }

  private final class RequestLog: Sendable {
    let requests = Mutex<[ReceivedRequest]>([])
  }

  private static func makeSocket() -> Int32 {
    #if canImport(Glibc)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  /// Listens on a free port and returns the port.
  private static func listen(on socket: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      // Safety of `withMemoryRebound`: every address of a socket begins with the fields of `sockaddr`.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(socket, address, size) == 0, Foundation.listen(socket, 64) == 0 else { return Int32(-1) }
        return getsockname(socket, address, &size)
      }
    }
    guard status == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    return UInt16(bigEndian: address.sin_port)
  }
}

/// A request that a server has received.
struct ReceivedRequest: Sendable {
  let method: String
  /// Path and query.
  let target: String
  /// By name, in lower case.
  let headerFields: [String: String]
  /// The body, in the announced length.
  var body = Data()
  /// The number of all bytes.
  var length = 0

  init?(head: String) {
    let lines = head.components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    method = String(words[0])
    target = String(words[1])
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    headerFields = fields
  }
}

/// A reply whose bytes a test writes.
struct ScriptedReply: Sendable {
  var status = "200 OK"
  var headerFields: [String] = []
  var body = ""

  var bytes: Data { Data((head(length: body.utf8.count) + body).utf8) }

  func head(length: Int) -> String {
    (["HTTP/1.1 \(status)", "Content-Length: \(length)", "Connection: close"] + headerFields)
      .joined(separator: "\r\n") + "\r\n\r\n"
  }
}

/// One connection of a client, closed with its last reference.
final class Connection: Sendable {
  private let socket: Int32

  init(_ socket: Int32) { self.socket = socket }

  deinit {
    shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
  }

  func send(_ reply: ScriptedReply) { send(reply.bytes) }
  func send(_ text: String) { send(Data(text.utf8)) }

  func send(_ data: Data) {
    data.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = write(socket, bytes.baseAddress! + sent, bytes.count - sent)
        guard count > 0 else { return }
        sent += count
      }
    }
  }

  /// Reads a request, with the body that its head announces.
  func receive() -> ReceivedRequest? {
    var bytes = Data()
    let end = Data("\r\n\r\n".utf8)
    while bytes.range(of: end) == nil {
      guard readMore(into: &bytes) else { return nil }
    }
    guard let head = bytes.range(of: end),
      var request = ReceivedRequest(head: String(decoding: bytes[..<head.lowerBound], as: UTF8.self))
    else { return nil }
    let length = request.headerFields["content-length"].flatMap { Int($0) } ?? 0
    while bytes.count < head.upperBound + length {
      guard readMore(into: &bytes) else { return nil }
    }
    request.body = Data(bytes[head.upperBound...])
    request.length = bytes.count
    return request
  }

  /// Reads the first record of a TLS connection: the greeting of the client.
  func receiveGreeting() -> Data {
    var bytes = Data()
    while bytes.count < 5 || bytes.count < 5 + Int(bytes[3]) * 256 + Int(bytes[4]) {
      guard readMore(into: &bytes) else { break }
    }
    return bytes
  }

  private func readMore(into bytes: inout Data) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(socket, &buffer, buffer.count)
    guard count > 0 else { return false }
    bytes += buffer[..<count]
    return true
  }

  /// Reads a number of bytes and no more, or fewer at the client's end.
  func discard(_ count: Int) {
    var rest = count
    var buffer = [UInt8](repeating: 0, count: 4096)
    while rest > 0 {
      let count = read(socket, &buffer, min(rest, buffer.count))
      guard count > 0 else { return }
      rest -= count
    }
  }

  /// Blocks until the client closes the connection.
  func waitUntilClientCloses() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while read(socket, &buffer, buffer.count) > 0 {}
  }
}
