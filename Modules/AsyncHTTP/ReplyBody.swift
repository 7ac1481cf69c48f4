import AsyncHTTPClient
import CoherenceHTTP
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The body of a reply during its transfer. The release of an incomplete body closes its connection.
struct ReplyBody: Sendable {
  private let parts: HTTPClientResponse.Body
  /// The length of the body by the reply's Content-Length; `nil` for a compressed body, whose decompressed size alone
  /// counts.
  private let announced: Int?
  /// Whether the reply has no body because of its length, its status or the method of its request, even if its header
  /// fields describe a body (RFC 9112, 6.3).
  private let isAbsent: Bool
  private let limit: Int

  /// - Parameter limit: The maximum number of bytes in the body.
  init(_ reply: HTTPClientResponse, to request: HTTPRequest, limit: Int) {
    parts = reply.body
    let isCompressed = reply.headers.contains(name: "Content-Encoding")
    let length = reply.headers.first(name: "Content-Length").flatMap { Int($0) }
    announced = isCompressed ? nil : length
    isAbsent = request.method == .head || [204, 304].contains(reply.status.code) || length == 0
    self.limit = limit
  }

  /// Whether the announced length exceeds the limit, so that the client refuses the reply at its head.
  var isAnnouncedTooLarge: Bool { !isAbsent && announced.map { $0 > limit } ?? false }

  /// Writes the body into a buffer until its end, or until the task is cancelled.
  ///
  /// The library reads from the connection only while this function waits for a part. A slow buffer therefore slows the
  /// server down, instead of filling the memory.
  func write(into buffer: BodyBuffer, _ failure: HTTPFailure) async -> Result<Void, any Error> {
    var size = 0
    do {
      for try await part in parts {
        guard part.readableBytes <= limit - size else { throw failure.bodyTooLarge(limit) }
        size += part.readableBytes
        buffer.write(part.withUnsafeReadableBytes { Data($0) })
      }
      // The sequence of a cancelled task may end without an error; its body is incomplete nevertheless.
      try Task.checkCancellation()
      return .success(())
    } catch {
      // The head of a reply without a body may announce a compressed body: the reply to a HEAD request, or an empty
      // reply of a service that compresses all replies. The decompressor fails because the body is missing, although
      // the reply is complete.
      if isAbsent, !Task.isCancelled { return .success(()) }
      return .failure(failure.broken(byTransport: error, limit: limit))
    }
  }
}
