import CoherenceCore
public import Foundation
public import HTTPTypes

/// Cancels a request whose reply is not complete within a time limit.
///
/// The limit counts from the call, includes redirects, and excludes the wait for the admission by a
/// ``URLSessionClient``, which sends a limited number of requests to one origin at once: a hundred simultaneous
/// requests may have the limit of a single one. A client of your own with a queue excludes its wait with
/// ``withoutCounting(isolation:_:)``. To limit the whole time, with the wait, cancel the task that sends the request.
public struct TimeLimitedClient: HTTPClient {
  private let base: any HTTPClient
  private let limit: Duration
  private let clock: any HTTPClock

  /// Wraps a client.
  ///
  /// - Parameters:
  ///   - base: The client that sends the requests.
  ///   - limit: The maximum time of the transfers of one request, redirects included.
  ///   - clock: Measures the time.
  public init(_ base: any HTTPClient, limit: Duration, clock: any HTTPClock = .system) {
    self.base = base
    self.limit = limit
    self.clock = clock
  }

  /// Sends a request and returns the whole reply.
  ///
  /// - Throws: ``ErrorCode/httpTimedOut``, and the errors of the wrapped client.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let timer = TransferTimer(limit, clock)
    defer { timer.stop() }
    return try await run(timer, for: request) { try await base.send(request, body: body) }
  }

  /// Sends a request and returns at the head of the reply. The limit includes the arrival of the whole body, and not
  /// the time of its reader. After the limit, reading an incomplete body throws ``ErrorCode/httpTimedOut``.
  ///
  /// - Throws: The errors of ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    let timer = TransferTimer(limit, clock)
    do {
      let stream = try await run(timer, for: request) { try await base.stream(request, body: body) }
      let (buffer, limit) = (stream.body.buffer, limit)
      // After the head, the expiry ends the body instead of the call.
      timer.whenExpired { buffer.cancel(HTTPFailure(to: request).timedOut(after: limit)) }
      buffer.whenEnded { timer.stop() }
      return stream
    } catch {
      timer.stop()
      throw error
    }
  }

  /// Runs an operation until its end or the expiry of the timer. An operation that ignores its cancellation may
  /// continue after the expiry.
  private func run<Result: Sendable>(
    _ timer: TransferTimer, for request: HTTPRequest, _ operation: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let (expiry, continuation) = AsyncStream.makeStream(of: Void.self)
    timer.whenExpired { continuation.finish() }
    timer.start()
    return try await withThrowingTaskGroup(of: Result.self) { group in
      group.addTask {
        try await TransferTimer.$running.withValue(TransferTimer.running + [timer]) { try await operation() }
      }
      group.addTask { [limit] in
        for await _ in expiry {}
        try Task.checkCancellation()
        throw HTTPFailure(to: request).timedOut(after: limit)
      }
      // The first end decides: of the operation or of the timer. The group cancels the other task and waits for it.
      defer { group.cancelAll() }
      guard let result = try await group.next() else { throw CancellationError() }
      return result
    }
  }

  /// Runs an operation whose time does not count for the limits of the request that the task sends: the wait
  /// for the admission of the request.
  ///
  /// For clients of your own; outside of a limited request, the operation just runs.
  public static func withoutCounting<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Result
  ) async rethrows -> Result {
    try await TransferTimer.paused(operation)
  }
}

extension HTTPClient {
  /// Wraps this client with a time limit for replies; see ``TimeLimitedClient``.
  ///
  /// Inside of `retrying` the limit applies to each attempt; around `retrying`, to all attempts and their delays. The
  /// wait for the admission by a ``URLSessionClient`` does not count.
  public func limited(to limit: Duration, clock: any HTTPClock = .system) -> TimeLimitedClient {
    TimeLimitedClient(self, limit: limit, clock: clock)
  }
}
