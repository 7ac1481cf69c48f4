import Foundation
import HTTPTypes

/// A reply with a complete body, or with a body that still arrives. Redirects and retries treat both alike.
protocol AnyHTTPReply: Sendable {
  var request: HTTPRequest { get set }
  var response: HTTPResponse { get }
  var url: URL? { get set }
  /// Cancels the rest of the reply, because the reply to another request replaces it.
  func discard()
}

extension HTTPReply: AnyHTTPReply {
  func discard() {}
}

extension HTTPStream: AnyHTTPReply {
  func discard() { body.buffer.cancel(CancellationError()) }
}

extension HTTPFailure {
  /// The failure that the status of a reply means.
  init(status reply: some AnyHTTPReply) {
    self.init(to: reply.request, status: reply.response.status.code)
    retryAfter = reply.response.headerFields[.retryAfter]
    // Only a date counts from the date of the reply. Without one, the failures of a request that differ in their times
    // alone are equal.
    if let retryAfter, !RetryAfter.isNumber(retryAfter) { replyDate = reply.response.headerFields[.date] }
  }
}
