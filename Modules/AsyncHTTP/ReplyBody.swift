import AsyncHTTPClient
import CoherenceHTTP
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The body of a reply while it arrives. The release of an incomplete body closes its connection.
struct ReplyBody: Sendable {
  private let parts: HTTPClientResponse.Body
  private let announced: Int?
  /// Whether a reply of this kind has no body, whatever its header fields say (RFC 9112, 6.3).
  private let isAbsent: Bool
  private let limit: Int

  /// - Parameter limit: The maximum number of bytes in the body.
  init(_ reply: HTTPClientResponse, to request: HTTPRequest, limit: Int) {
    parts = reply.body
    announced = reply.headers.first(name: "Content-Length").flatMap { Int($0) }
    isAbsent = request.method == .head || [204, 304].contains(reply.status.code)
    self.limit = limit
  }

  var isAnnouncedTooLarge: Bool { !isAbsent && announced.map { $0 > limit } ?? false }

  /// Writes the body into a buffer until its end, or until the task is canceled.
  ///
  /// The library reads from the connection only while this function waits for a part, so that the server waits for the
  /// buffer.
  func write(into buffer: BodyBuffer, _ failure: HTTPFailure) async -> Result<Void, any Error> {
    var size = 0
    do {
      for try await part in parts {
        guard part.readableBytes <= limit - size else { throw failure.bodyTooLarge(limit) }
        size += part.readableBytes
        buffer.write(part.withUnsafeReadableBytes { Data($0) })
      }
      // A canceled sequence may end without an error.
      try Task.checkCancellation()
      return .success(())
    } catch {
      // The decompressor misses the compressed body that the head of a HEAD's reply describes.
      if isAbsent, !Task.isCancelled { return .success(()) }
      return .failure(failure.broken(byTransport: error, limit: limit))
    }
  }
}
