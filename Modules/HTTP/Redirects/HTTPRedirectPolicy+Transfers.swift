package import Foundation
package import HTTPTypes

extension HTTPRedirectPolicy {
  /// Begins the transfer of one request without following redirects, and returns at the head of the reply.
  ///
  /// The transfer writes the body into the buffer and finishes it, and ends when the buffer is cancelled.
  package typealias Beginning = (_ hop: HTTPHop, _ buffer: BodyBuffer) async throws -> HTTPResponse

  /// Sends a request, follows its redirects, and waits for the complete reply, whose body is in memory.
  package func reply(
    to request: HTTPRequest, body: Data?, beginning begin: Beginning
  ) async throws -> HTTPReply {
    try await send(request, body: body) { hop in
      let buffer = BodyBuffer(memorySize: .max)
      let response = try await begin(hop, buffer)
      return HTTPReply(to: hop.request, response: response, body: try await buffer.collected())
    }
  }

  /// Sends a request, follows its redirects, and returns at the head of the reply.
  package func stream(
    _ request: HTTPRequest, body: Data?, beginning begin: Beginning
  ) async throws -> HTTPStream {
    try await send(request, body: body) { hop in
      let buffer = BodyBuffer()
      return HTTPStream(to: hop.request, response: try await begin(hop, buffer), body: HTTPBody(buffer))
    }
  }
}
