import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A socket of the local system. Messages are lines; a connection has one line in each direction.
enum UnixSocket {
  struct Failure: Error {
    let call: String
    let code: CInt = errno
  }

  private static func make() -> CInt {
    #if canImport(Glibc)
      socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    #else
      socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { bytes in bytes.copyBytes(from: path.utf8.prefix(bytes.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
      // Safety of `withMemoryRebound`: every address of a socket begins with the fields of `sockaddr`.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Makes a socket that accepts connections.
  static func listen(at path: String) throws -> CInt {
    let listener = make()
    guard withAddress(path, { bind(listener, $0, $1) }) == 0, Foundation.listen(listener, 128) == 0 else {
      throw Failure(call: "listen")
    }
    _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
    return listener
  }

  /// Sends a line on a new connection, and returns the line of the reply.
  static func exchange(_ line: Data, at path: String) throws -> Data {
    let connection = make()
    defer { close(connection) }
    guard withAddress(path, { connect(connection, $0, $1) }) == 0 else { throw Failure(call: "connect") }
    try write(line + [UInt8(ascii: "\n")], to: connection)
    guard let answer = readLine(from: connection) else { throw Failure(call: "read") }
    return answer
  }

  /// Writes all bytes. Throws an error for a killed peer, without the signal `SIGPIPE`.
  static func write(_ data: Data, to descriptor: CInt) throws {
    var rest = Array(data)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Failure(call: "send") }
      rest = rest.dropFirst(count)
    }
  }

  #if canImport(Darwin)
    private static let flags: CInt = 0
  #else
    private static let flags = CInt(MSG_NOSIGNAL)
  #endif

  /// Reads a line and returns it without its line break; `nil` if the peer ends before the line break.
  static func readLine(from descriptor: CInt) -> Data? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16384)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      bytes += buffer[..<count]
      if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) { return Data(bytes[..<end]) }
    }
  }
}
