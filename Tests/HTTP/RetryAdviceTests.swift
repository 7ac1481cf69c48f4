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
    #expect(RetryPolicy.advisedDelay(of: error("0"), at: now) == .zero)
    #expect(RetryPolicy.advisedDelay(of: error("Sun, 06 Nov 1994 08:50:37 GMT"), at: now) == .seconds(60))
    #expect(RetryPolicy.advisedDelay(of: error("Sun, 06 Nov 1994 08:40:37 GMT"), at: now) == .zero)
  }

  @Test(arguments: [nil, "Sun, 06 Nov 1994 06:49:37 GMT", "Sun, 06 Nov 1994 10:49:37 GMT"] as [String?])
  func `the error of a reply advises a delay by the clock of the server`(replyDate: String?) throws {
    let fields = ["Retry-After": replyDate?.replacingOccurrences(of: ":49:", with: ":51:") ?? "120"]
      .merging(replyDate.map { ["Date": $0] } ?? [:]) { first, _ in first }
    let reply = HTTPReply.make(to: .get("https://example.org/notes"), 503, fields)
    var advice: Duration?
    do {
      try reply.successful()
    } catch {
      advice = RetryPolicy.advisedDelay(of: error, at: now)
    }
    #expect(advice == .seconds(120))
  }

  @Test(arguments: [nil, "120"] as [String?])
  func `the failures of a request that differ in their times only are equal`(retryAfter: String?) {
    let request = HTTPRequest.get("https://example.org/notes")
    var failures: Set = [HTTPFailure(to: request, status: 503)]
    for second in 10...12 {
      let fields = ["Date": "Sun, 06 Nov 1994 08:49:\(second) GMT"]
        .merging(retryAfter.map { ["Retry-After": $0] } ?? [:]) { first, _ in first }
      do {
        try HTTPReply.make(to: request, 503, fields).successful()
      } catch {
        if let failure = (error as? CoherenceError)?.underlying as? HTTPFailure { failures.insert(failure) }
      }
    }
    #expect(failures.count == (retryAfter == nil ? 1 : 2))
  }

  @Test func `a Retry-After of more than a century counts as a century`() {
    let century = Duration.seconds(36_525 * 86_400)
    #expect(RetryPolicy.advisedDelay(of: error("\(Int.max)"), at: now) == century)
    #expect(RetryPolicy.advisedDelay(of: error("99999999999999999999"), at: now) == century)
    #expect(RetryPolicy.advisedDelay(of: error("Sun, 06 Nov 9994 08:49:37 GMT"), at: now) == century)
  }

  @Test func `an error without a readable Retry-After advises nothing`() {
    #expect(RetryPolicy.advisedDelay(of: error("soon"), at: now) == nil)
    #expect(RetryPolicy.advisedDelay(of: error(nil), at: now) == nil)
    #expect(RetryPolicy.advisedDelay(of: CancellationError(), at: now) == nil)
  }
}
