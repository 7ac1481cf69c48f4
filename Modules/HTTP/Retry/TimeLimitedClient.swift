import CoherenceCore
import Foundation
import HTTPTypes

/// Gives up on a request when its reply is not complete in time, and cancels the transfer.
///
/// The time begins with the call. It includes redirects, and the wait for a connection: a session has a limited number
/// of connections to one host (`httpMaximumConnectionsPerHost` of its configuration), and does not tell when a request
/// leaves its queue. Many requests to one host at once need a limit for the last of them, more connections, or an order
/// in which fewer are sent at once.
public struct TimeLimitedClient: HTTPClient {
  private let base: any HTTPClient
  private let limit: Duration
  private let clock: any HTTPClock

  public init(_ base: any HTTPClient, limit: Duration, clock: any HTTPClock = .system) {
    self.base = base
    self.limit = limit
    self.clock = clock
  }

  /// - Throws: ``ErrorCode/httpTimedOut``, and what the client throws that this one wraps.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await withThrowingTaskGroup(of: HTTPReply.self) { group in
      group.addTask { try await base.send(request, body: body) }
      group.addTask {
        try await clock.wait(for: limit)
        throw HTTPFailure(to: request).timedOut(after: limit)
      }
      // Whoever is first decides; the other is cancelled and waited for.
      defer { group.cancelAll() }
      guard let reply = try await group.next() else { throw CancellationError() }
      return reply
    }
  }
}

extension HTTPClient {
  /// This client, giving up on replies that are not complete in time; see ``TimeLimitedClient``.
  ///
  /// Inside of `retrying` the limit is for each attempt, around it for all of them. It includes the wait for a
  /// connection.
  public func limited(to limit: Duration, clock: any HTTPClock = .system) -> TimeLimitedClient {
    TimeLimitedClient(self, limit: limit, clock: clock)
  }
}
