import Foundation
import HTTPTypes

/// A reply, whole or with its body still coming in. Redirects and retries treat both alike.
protocol HTTPAnswer: Sendable {
  var request: HTTPRequest { get set }
  var response: HTTPResponse { get }
  var url: URL? { get set }
  /// Cancels the rest of the reply, because the reply to another request replaces it.
  func discard()
}

extension HTTPReply: HTTPAnswer {
  func discard() {}
}

extension HTTPStream: HTTPAnswer {
  func discard() { body.buffer.cancel(CancellationError()) }
}

extension HTTPFailure {
  /// The failure that the status of a reply means.
  init(status reply: some HTTPAnswer) {
    self.init(to: reply.request, status: reply.response.status.code)
    retryAfter = reply.response.headerFields[.retryAfter]
  }
}
