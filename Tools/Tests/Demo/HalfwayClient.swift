import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization

/// Passes requests on, but one: of that the reply never ends.
final class HalfwayClient: HTTPClient {
  private let base = URLSessionClient()
  private let last: Int
  private let count = Mutex(0)
  private let reached = AsyncStream<Void>.makeStream()

  /// - Parameter last: The number of the request, from 1, without a reply.
  init(answering last: Int) { self.last = last }

  func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let number = count.withLock { count in
      count += 1
      return count
    }
    guard number == last else { return try await base.send(request, body: body) }
    reached.continuation.finish()
    // Ends when the task is cancelled, and not before.
    for await _ in AsyncStream<Void>.makeStream().stream {}
    throw CancellationError()
  }

  /// Returns when the request is under way.
  func waitUntilHalfway() async { for await _ in reached.stream {} }
}
