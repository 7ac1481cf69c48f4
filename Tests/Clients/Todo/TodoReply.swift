import Foundation

/// A reply of the server.
struct TodoReply: Sendable, Hashable {
  var status: Int
  var body = Data()
  var fields: [String: String] = [:]

  /// The bytes of the reply on the network: head and body.
  var bytes: Data {
    var head = "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.count)\r\nConnection: close\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    return Data("\(head)\r\n".utf8) + body
  }
}
