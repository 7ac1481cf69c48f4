package import Foundation
import Synchronization

/// Listens on the loopback interface. Each connection has one request, and a thread of its own.
package final class HTTPListener: Sendable {
  package let url: URL
  private let socket: Int32
  /// Whether the socket is open. The thread that accepts connections closes it: otherwise a listener made next could get
  /// the socket's number, and lose its connections to this thread.
  private let isOpen: OpenFlag

  private final class OpenFlag: Sendable { let value = Mutex(true) }

  /// - Parameter answer: Called for each request, on the thread of its connection. Returns all bytes of the reply;
  ///   `nil` closes the connection without a reply.
  package init(_ answer: @escaping @Sendable (HTTPListenerRequest) -> Data?) throws {
    // Writing to a closed socket is an error here, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let (socket, port) = try Self.listen()
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw POSIXError(.EADDRNOTAVAIL) }
    self.url = url
    self.socket = socket
    let isOpen = OpenFlag()
    self.isOpen = isOpen
    Thread.detachNewThread {
      while case let connection = accept(socket, nil, nil), connection >= 0 {
        Thread.detachNewThread {
          if let request = Self.receive(from: connection), let reply = answer(request) {
            Self.send(reply, to: connection)
          }
          shutdown(connection, Int32(SHUT_RDWR))
          close(connection)
        }
      }
      isOpen.value.withLock {
        $0 = false
        close(socket)
      }
    }
  }

  deinit {
    isOpen.value.withLock { if $0 { _ = shutdown(socket, Int32(SHUT_RDWR)) } }
  }

  private static func listen() throws -> (socket: Int32, port: UInt16) {
    #if canImport(Glibc)
      let listener = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = Foundation.socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      // Safety of `withMemoryRebound`: every address of a socket begins with the fields of `sockaddr`.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(listener, address, size) == 0, Foundation.listen(listener, 256) == 0 else { return Int32(-1) }
        return getsockname(listener, address, &size)
      }
    }
    guard status == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  private static func receive(from connection: Int32) -> HTTPListenerRequest? {
    var bytes = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    func more() -> Bool {
      let count = read(connection, &buffer, buffer.count)
      if count > 0 { bytes += buffer[..<count] }
      return count > 0
    }
    let end = Data("\r\n\r\n".utf8)
    while bytes.range(of: end) == nil { guard more() else { return nil } }
    guard let head = bytes.range(of: end) else { return nil }
    let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3, let components = URLComponents(string: String(words[1])) else { return nil }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    let length = fields["content-length"].flatMap { Int($0) } ?? 0
    while bytes.count < head.upperBound + length { guard more() else { return nil } }
    let items = (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }
    return HTTPListenerRequest(
      method: String(words[0]), path: components.path, query: Dictionary(items) { $1 }, fields: fields,
      body: Data(bytes[head.upperBound...]))
  }

  private static func send(_ data: Data, to connection: Int32) {
    data.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      var sent = 0
      while sent < bytes.count {
        let count = write(connection, start + sent, bytes.count - sent)
        guard count > 0 else { return }
        sent += count
      }
    }
  }
}
