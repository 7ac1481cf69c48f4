import CoherenceCore
public import Foundation
public import HTTPTypes

/// Gives up on a request when its reply is not complete in time, and cancels the transfer.
///
/// The time is that of the transfers: it begins with the call, includes redirects, and stands still while the request
/// waits for its turn in a ``URLSessionClient``, which sends a limited number of requests to one origin at once. So a
/// hundred requests at once may have a limit that fits one of them. A client of your own that has a queue keeps the wait
/// out of the limit with ``withoutCounting(isolation:_:)``. How long a request may take as a whole, its turn
/// included, is the business of the task that sends it: cancel the task.
public struct TimeLimitedClient: HTTPClient {
  private let base: any HTTPClient
  private let limit: Duration
  private let clock: any HTTPClock

  /// - Parameter limit: For the transfers of one request, from the first byte sent to the last one received.
  public init(_ base: any HTTPClient, limit: Duration, clock: any HTTPClock = .system) {
    self.base = base
    self.limit = limit
    self.clock = clock
  }

  /// - Throws: ``ErrorCode/httpTimedOut``, and what the client throws that this one wraps.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let timer = TransferTimer(limit, clock)
    defer { timer.stop() }
    return try await run(timer, for: request) { try await base.send(request, body: body) }
  }

  /// The limit is for the whole body: when it is over before the last byte arrived, reading throws
  /// ``ErrorCode/httpTimedOut``. The time that a reader takes for what arrived does not count.
  ///
  /// - Throws: As ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    let timer = TransferTimer(limit, clock)
    do {
      let stream = try await run(timer, for: request) { try await base.stream(request, body: body) }
      let (buffer, limit) = (stream.body.buffer, limit)
      timer.whenExpired { buffer.cancel(HTTPFailure(to: request).timedOut(after: limit)) }
      buffer.whenEnded { timer.stop() }
      return stream
    } catch {
      timer.stop()
      throw error
    }
  }

  /// Runs an operation until it ends or the timer expires, which may go on running then.
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
      // The first one decides; the other is canceled and waited for.
      defer { group.cancelAll() }
      guard let result = try await group.next() else { throw CancellationError() }
      return result
    }
  }

  /// Runs an operation whose time does not count for the limits of the request that the task sends: the wait for a turn.
  ///
  /// For clients of your own; outside of a limited request, the operation just runs.
  public static func withoutCounting<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Result
  ) async rethrows -> Result {
    try await TransferTimer.paused(operation)
  }
}

extension HTTPClient {
  /// This client, giving up on replies that are not complete in time; see ``TimeLimitedClient``.
  ///
  /// Inside of `retrying` the limit is for each attempt, around it for all of them, with the pauses between them. The
  /// wait for a turn in a ``URLSessionClient`` does not count.
  public func limited(to limit: Duration, clock: any HTTPClock = .system) -> TimeLimitedClient {
    TimeLimitedClient(self, limit: limit, clock: clock)
  }
}
