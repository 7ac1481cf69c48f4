import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import TestSupport
import Testing

@Suite("Retries")
struct RetryTests {
  private let clock = TestClock()
  private let request = HTTPRequest.get("https://example.org/albums")

  private func retrying(_ base: StubClient, _ policy: HTTPRetryPolicy = HTTPRetryPolicy()) -> RetryingClient {
    RetryingClient(base, policy: policy, clock: clock, random: { 1 })
  }

  @Test func `the delay between attempts doubles up to the maximum`() async throws {
    let base = StubClient { _, request in .make(to: request, 503) }
    var policy = HTTPRetryPolicy(attempts: 6)
    policy.longestDelay = .seconds(3)
    let reply = try await retrying(base, policy).send(request)
    #expect(reply.status.code == 503)
    #expect(base.requests.count == 6)
    #expect(
      clock.waits == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)])
  }

  @Test func `jitter draws the delay between zero and the full delay`() async throws {
    let base = StubClient { number, request in .make(to: request, number < 2 ? 502 : 200) }
    let client = RetryingClient(base, clock: clock, random: { 0.25 })
    #expect(try await client.send(request).status == .ok)
    #expect(clock.waits == [.milliseconds(125), .milliseconds(250)])
  }

  @Test(arguments: [429, 503])
  func `the next attempt waits for the time of Retry-After`(status: Int) async throws {
    let base = StubClient { number, request in
      .make(to: request, number == 0 ? status : 200, ["Retry-After": "17"])
    }
    #expect(try await retrying(base).send(request).status == .ok)
    #expect(clock.waits == [.seconds(17)])
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:50:07 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", "Sun Nov  6 08:50:07 1994",
  ])
  func `Retry-After may be a date, in each form of HTTP`(date: String) async throws {
    // The clock stands at 08:49:37.
    let base = StubClient { number, request in
      .make(to: request, number == 0 ? 503 : 200, ["Retry-After": date])
    }
    #expect(try await retrying(base).send(request).status == .ok)
    #expect(clock.waits == [.seconds(30)])
  }

  @Test func `a date of Retry-After counts from the date of the reply, whatever the clock here shows`() async throws {
    // The clock stands at 08:49:37, an hour behind the clock of the server.
    let base = StubClient { number, request in
      .make(
        to: request, number == 0 ? 503 : 200,
        ["Date": "Sun, 06 Nov 1994 09:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 09:50:07 GMT"])
    }
    #expect(try await retrying(base).send(request).status == .ok)
    #expect(clock.waits == [.seconds(30)])
  }

  @Test(arguments: ["soon", "-5", ""])
  func `an invalid Retry-After is ignored`(text: String) async throws {
    let base = StubClient { number, request in .make(to: request, number == 0 ? 503 : 200, ["Retry-After": text]) }
    _ = try await retrying(base).send(request)
    #expect(clock.waits == [.milliseconds(500)])
  }

  @Test(arguments: ["86400", "\(Int.max)", "99999999999999999999"])
  func `a Retry-After beyond the maximum ends the attempts`(seconds: String) async throws {
    let base = StubClient { _, request in .make(to: request, 503, ["Retry-After": seconds]) }
    #expect(try await retrying(base).send(request).status.code == 503)
    #expect(base.requests.count == 1)
    #expect(clock.waits.isEmpty)
  }

  @Test(arguments: [(120, true), (121, false)])
  func `the greatest Retry-After is two minutes by default`(seconds: Int, isObeyed: Bool) async throws {
    let base = StubClient { number, request in
      .make(to: request, number == 0 ? 503 : 200, ["Retry-After": "\(seconds)"])
    }
    #expect(try await retrying(base).send(request).status.code == (isObeyed ? 200 : 503))
    #expect(clock.waits == (isObeyed ? [.seconds(seconds)] : []))
  }

  @Test func `the greatest Retry-After is a setting`() async throws {
    let base = StubClient { number, request in
      .make(to: request, number < 2 ? 503 : 200, ["Retry-After": number == 0 ? "7" : "8"])
    }
    var policy = HTTPRetryPolicy()
    policy.longestRetryAfter = .seconds(7)
    #expect(try await retrying(base, policy).send(request).status.code == 503)
    #expect(clock.waits == [.seconds(7)])
  }

  @Test func `a Retry-After below the delay does not shorten the delay`() async throws {
    let base = StubClient { number, request in
      .make(to: request, number == 0 ? 503 : 200, ["Retry-After": "0"])
    }
    #expect(try await retrying(base).send(request).status == .ok)
    #expect(clock.waits == [.milliseconds(500)])
  }

  @Test func `the retryable statuses and the first delay are settings`() async throws {
    let base = StubClient { number, request in .make(to: request, number < 2 ? 500 : 503) }
    var policy = HTTPRetryPolicy()
    policy.statuses = [500]
    policy.firstDelay = .seconds(2)
    #expect(try await retrying(base, policy).send(request).status.code == 503)
    #expect(clock.waits == [.seconds(2), .seconds(4)])
  }

  @Test(arguments: [HTTPRetryPolicy.never, HTTPRetryPolicy(attempts: 0), HTTPRetryPolicy(attempts: -1)])
  func `a policy of less than two attempts sends a request once`(policy: HTTPRetryPolicy) async throws {
    let base = StubClient { _, request in .make(to: request, 503) }
    #expect(try await retrying(base, policy).send(request).status.code == 503)
    #expect(base.requests.count == 1 && clock.waits.isEmpty)
  }

  @Test(arguments: [429, 502, 503, 504])
  func `a request is sent four times by default`(status: Int) async throws {
    let base = StubClient { _, request in .make(to: request, status) }
    #expect(try await retrying(base).send(request).status.code == status)
    #expect(base.requests.count == 4)
    #expect(clock.waits == [.milliseconds(500), .seconds(1), .seconds(2)])
  }

  @Test func `the delay between attempts is thirty seconds at most by default`() async throws {
    let base = StubClient { _, request in .make(to: request, 503) }
    _ = try await retrying(base, HTTPRetryPolicy(attempts: 9)).send(request)
    #expect(clock.waits.suffix(3) == [.seconds(16), .seconds(30), .seconds(30)])
  }

  @Test func `a broken connection is retried as often as a status, and the last error is thrown`() async throws {
    let base = StubClient { number, _ in
      throw CoherenceError(.httpTransferFailed, "Attempt \(number) broke.", isRetryable: true)
    }
    let error = await #expect(throws: CoherenceError.self) { try await retrying(base).send(request) }
    #expect(error?.message == "Attempt 3 broke.")
    #expect(clock.waits == [.milliseconds(500), .seconds(1), .seconds(2)])
  }

  @Test(arguments: [200, 304, 400, 404, 500])
  func `a non-retryable status is returned after one attempt`(status: Int) async throws {
    let base = StubClient { _, request in .make(to: request, status) }
    #expect(try await retrying(base).send(request).status.code == status)
    #expect(base.requests.count == 1)
  }

  @Test func `a broken connection is retried, and a non-retryable error is thrown at once`() async throws {
    let broken = CoherenceError(.httpTransferFailed, "The connection broke.", isRetryable: true)
    let base = StubClient { number, request in
      if number < 2 { throw broken }
      return .make(to: request)
    }
    #expect(try await retrying(base).send(request).status == .ok)
    #expect(base.requests.count == 3)
    let hopeless = StubClient { _, _ in throw CoherenceError(.httpUnmatchedRequest, "No such reply.") }
    await #expect(throws: CoherenceError.self) { try await retrying(hopeless).send(request) }
    #expect(hopeless.requests.count == 1)
  }

  @Test func `a request that the server may have processed is not sent again`() async throws {
    var post = request
    post.method = .post
    let base = StubClient { _, request in .make(to: request, 503) }
    #expect(try await retrying(base).send(post).status.code == 503)
    #expect(base.requests.count == 1)
    // 429: the server has not processed the request.
    let busy = StubClient { number, request in .make(to: request, number == 0 ? 429 : 201) }
    #expect(try await retrying(busy).send(post).status.code == 201)
  }

  @Test(arguments: [(HTTPRequest.Method.post, 1), (.patch, 1), (.put, 2), (.delete, 2), (.head, 2)])
  func `after a broken connection only a repeatable request is sent again`(
    method: HTTPRequest.Method, count: Int
  ) async throws {
    let request = HTTPRequest(method: method, scheme: "https", authority: "example.org", path: "/albums")
    let base = StubClient { _, _ in throw CoherenceError(.httpTransferFailed, "It broke.", isRetryable: true) }
    await #expect { try await retrying(base, HTTPRetryPolicy(attempts: 2)).send(request) } throws: {
      ErrorCode.httpTransferFailed ~= $0
    }
    #expect(base.requests.count == count)
  }

  @Test func `the methods of repeatable requests are a setting`() async throws {
    var post = request
    post.method = .post
    let base = StubClient { number, request in .make(to: request, number == 0 ? 503 : 201) }
    var policy = HTTPRetryPolicy()
    policy.methods.insert(.post)
    #expect(try await retrying(base, policy).send(post).status.code == 201)
  }

  @Test func `cancelling ends the wait for the next attempt`() async throws {
    let clock = GatedClock()
    let isAsked = Gate()
    let base = StubClient { _, request in
      isAsked.open()
      return .make(to: request, 503)
    }
    let client = base.retrying(clock: clock)
    let task = Task { [request] in try await client.send(request) }
    await isAsked.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(base.requests.count == 1)
  }

  @Test func `each further attempt is logged with the status of the reply, or with none after an error`() async throws {
    let broken = CoherenceError(.httpTransferFailed, "The connection broke.", isRetryable: true)
    let base = StubClient { number, request in
      if number == 0 { throw broken }
      return .make(to: request, number == 1 ? 503 : 200)
    }
    let log = MessageLog()
    let client = RetryingClient(base, clock: clock, random: { 1 }, logger: log.logger)
    #expect(try await client.send(request).status == .ok)
    let messages = log.messages
    #expect(messages.map { $0.contains("none") } == [true, false])
    #expect(messages.map { $0.contains("503") } == [false, true])
    // The numbers of the attempts: the first message has no other 2, and the second has none.
    #expect(messages.map { $0.contains("2") } == [true, false], "\(messages)")
    #expect(messages.map { $0.contains("1 s") } == [false, true])
    #expect(messages.allSatisfy { $0.contains("GET") && $0.contains("example.org") && !$0.contains("albums") })
  }

  @Test func `a request succeeds after the server recovers`() async throws {
    let server = try LoopbackServer(replies: [
      ScriptedReply(status: "503 Busy", headerFields: ["Retry-After: 1"]), ScriptedReply(body: "[1]"),
    ])
    let client = URLSessionClient(maximumBodySize: .max, configuration: .patient).retrying(clock: clock)
    #expect(try await client.send(.get(server.url), decoding: [Int].self) == [1])
    #expect(clock.waits == [.seconds(1)])
  }
}
