import CoherenceCore
public import Foundation
public import HTTPTypes
import Synchronization

/// Answers requests from a recording, without a network.
///
/// Requests are told apart by method, address and body; the order of members in a JSON body does not matter. Each
/// recorded reply is given once, those to equal requests in the order in which they were recorded. A replaced value of
/// a recording matches every value, unless another exchange fits the request literally: another token than the recorded
/// one finds the same replies.
public final class HTTPReplay: HTTPClient {
  private let redaction: HTTPRedaction
  private let waiting: Mutex<[HTTPExchange]>

  /// - Parameter redaction: What errors tell of the addresses that were asked for.
  public init(_ exchanges: [HTTPExchange], redaction: HTTPRedaction = HTTPRedaction()) {
    waiting = Mutex(exchanges)
    self.redaction = redaction
  }

  /// Reads a file that ``HTTPRecorder/write(to:)`` wrote.
  ///
  /// - Throws: ``ErrorCode/inputOutput`` when there is no such file, or it is no recording.
  public convenience init(file: URL, redaction: HTTPRedaction = HTTPRedaction()) throws {
    do {
      self.init(try JSONDecoder().decode([HTTPExchange].self, from: try Data(contentsOf: file)), redaction: redaction)
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
      let literal = waiting.firstIndex { $0.isReply(to: request, body, isMatching: false) }
      guard let index = literal ?? waiting.firstIndex(where: { $0.isReply(to: request, body, isMatching: true) })
      else { return nil }
      return waiting.remove(at: index)
    }
    guard let exchange else { throw unmatched(request) }
    return exchange.reply(to: request)
  }

  /// Paths are told here, unlike elsewhere: a recording is a test's own.
  private func unmatched(_ request: HTTPRequest) -> CoherenceError {
    var redactor = HTTPRedactor(redaction)
    let address = redactor.address(of: request)
    var left: [String] = []
    for exchange in remaining { left.append("\(exchange.method) \(redactor.address(exchange.url))") }
    return CoherenceError(
      .httpUnmatchedRequest,
      "The recording has no reply to \(request.method.rawValue) \(address). "
        + (left.isEmpty ? "All that it had were given." : "It has: \(left.joined(separator: ", ")).")
        + " Record it anew, or mend the request.", underlying: HTTPFailure(to: request))
  }
}
