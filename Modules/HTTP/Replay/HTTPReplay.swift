import CoherenceCore
import Foundation
import HTTPTypes
import Synchronization

/// Answers requests from a recording, without a network.
///
/// Requests are told apart by method, address and body. Each recorded reply is given once, those to equal requests in the
/// order in which they were recorded.
public final class HTTPReplay: HTTPClient {
  private let secrets: HTTPSecrets
  private let waiting: Mutex<[HTTPExchange]>

  public init(_ exchanges: [HTTPExchange], secrets: HTTPSecrets = HTTPSecrets()) {
    waiting = Mutex(exchanges)
    self.secrets = secrets
  }

  /// Reads a file that ``HTTPRecorder/write(to:)`` wrote.
  ///
  /// - Throws: ``ErrorCode/inputOutput`` when there is no such file, or it is no recording.
  public convenience init(file: URL, secrets: HTTPSecrets = HTTPSecrets()) throws {
    do {
      self.init(try JSONDecoder().decode([HTTPExchange].self, from: try Data(contentsOf: file)), secrets: secrets)
    } catch {
      throw CoherenceError(
        .inputOutput, "There is no recording at '\(file.path)'; make one with HTTPRecorder.", underlying: error)
    }
  }

  /// The recorded exchanges that nobody asked for yet: a test may expect that there are none.
  public var remaining: [HTTPExchange] { waiting.withLock { $0 } }

  /// - Throws: ``ErrorCode/httpUnmatchedRequest`` when the recording has no reply to the request, or no further one.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try Task.checkCancellation()
    let exchange = waiting.withLock { waiting -> HTTPExchange? in
      guard let index = waiting.firstIndex(where: { $0.isReply(to: request, body, secrets) }) else { return nil }
      return waiting.remove(at: index)
    }
    guard let exchange else { throw unmatched(request) }
    return exchange.reply(to: request)
  }

  /// Paths are told here, unlike elsewhere: a recording is a test's own.
  private func unmatched(_ request: HTTPRequest) -> CoherenceError {
    let left = remaining.map { "\($0.method) \($0.url)" }
    return CoherenceError(
      .httpUnmatchedRequest,
      "The recording has no reply to \(request.method.rawValue) \(secrets.removed(from: request)). "
        + (left.isEmpty ? "All that it had were given." : "It has: \(left.joined(separator: ", ")).")
        + " Record it anew, or mend the request.", underlying: HTTPFailure(to: request))
  }
}
