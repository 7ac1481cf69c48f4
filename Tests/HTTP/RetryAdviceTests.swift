import CoherenceActions
import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("The advice of a server about the next attempt")
struct RetryAdviceTests {
  private let now = Date(timeIntervalSince1970: 784_111_777)

  private func error(_ retryAfter: String?) -> CoherenceError {
    var failure = HTTPFailure(
      to: HTTPRequest(method: .post, scheme: "https", authority: "example.org", path: "/notes"), status: 503)
    failure.retryAfter = retryAfter
    return CoherenceError(.httpStatus, "The server is busy.", underlying: failure, isRetryable: true)
  }

  @Test func `an error of a request advises the delay of its Retry-After, in seconds or as a date`() {
    #expect(RetryPolicy.advisedDelay(of: error("120"), at: now) == .seconds(120))
    #expect(RetryPolicy.advisedDelay(of: error("Sun, 06 Nov 1994 08:50:37 GMT"), at: now) == .seconds(60))
    #expect(RetryPolicy.advisedDelay(of: error("Sun, 06 Nov 1994 08:40:37 GMT"), at: now) == .zero)
  }

  @Test func `a Retry-After of more than a century counts as a century`() {
    let century = Duration.seconds(36_525 * 86_400)
    #expect(RetryPolicy.advisedDelay(of: error("\(Int.max)"), at: now) == century)
    #expect(RetryPolicy.advisedDelay(of: error("Sun, 06 Nov 9994 08:49:37 GMT"), at: now) == century)
  }

  @Test func `an error without a readable Retry-After advises nothing`() {
    #expect(RetryPolicy.advisedDelay(of: error("soon"), at: now) == nil)
    #expect(RetryPolicy.advisedDelay(of: error(nil), at: now) == nil)
    #expect(RetryPolicy.advisedDelay(of: CancellationError(), at: now) == nil)
  }
}
