import Foundation

/// Listens on the loopback interface. Each connection has one request, and a thread of its own.
final class HTTPListener: Sendable {
  let url: URL
  private let socket: Int32

  /// - Parameter answer: Receives the target of a request and its header fields in lower case. Returns all bytes of the
  ///   reply.
  init(_ answer: @escaping @Sendable (_ target: String, _ fields: [String: String]) -> Data) throws {
    // Writing to a closed socket is an error here, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let (socket, port) = try Self.listen()
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw POSIXError(.EADDRNOTAVAIL) }
    self.url = url
    self.socket = socket
    Thread.detachNewThread {
      while case let connection = accept(socket, nil, nil), connection >= 0 {
        Thread.detachNewThread {
          if let (target, fields) = Self.receive(from: connection) { Self.send(answer(target, fields), to: connection) }
          shutdown(connection, Int32(SHUT_RDWR))
          close(connection)
        }
      }
    }
  }

  deinit {
    shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
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
        guard bind(listener, address, size) == 0, Foundation.listen(listener, 64) == 0 else { return Int32(-1) }
        return getsockname(listener, address, &size)
      }
    }
    guard status == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  /// Reads the head of a request, which has no body here.
  private static func receive(from connection: Int32) -> (target: String, fields: [String: String])? {
    var bytes = Data()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.range(of: Data("\r\n\r\n".utf8)) == nil {
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return nil }
      bytes += buffer[..<count]
    }
    let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    return (String(words[1]), fields)
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
