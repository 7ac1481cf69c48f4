import CoherenceCore
public import Foundation
public import HTTPTypes
import Synchronization

/// Returns the replies of a recording, without a network.
///
/// Requests are matched by method, address and body; the order of members in a JSON body does not matter. Each recorded
/// reply is returned once, and replies to equal requests in the order of the recording. A replaced value of a recording
/// matches every value, so that a request with another token finds the same reply. An exact match is preferred. May be
/// used from any thread.
public final class HTTPReplay: HTTPClient {
  private let redaction: HTTPRedaction
  /// The exchanges whose replies have not been returned yet.
  private let unused: Mutex<[HTTPExchange]>

  /// Makes a replay of exchanges.
  ///
  /// - Parameter redaction: The rules for the addresses in errors.
  public init(_ exchanges: [HTTPExchange], redaction: HTTPRedaction = HTTPRedaction()) {
    unused = Mutex(exchanges)
    self.redaction = redaction
  }

  /// Reads a file of ``HTTPRecorder/write(to:)``.
  ///
  /// - Throws: ``ErrorCode/inputOutput`` when the file does not exist or is no recording.
  public convenience init(file: URL, redaction: HTTPRedaction = HTTPRedaction()) throws {
    do {
      self.init(try JSONDecoder().decode([HTTPExchange].self, from: try Data(contentsOf: file)), redaction: redaction)
    } catch {
      throw CoherenceError(
        .inputOutput, "No recording exists at '\(file.path)'; make one with HTTPRecorder.", underlying: error)
    }
  }

  /// The exchanges without a request so far. A test can check that none remains.
  public var remaining: [HTTPExchange] { unused.withLock { $0 } }

  /// Returns the recorded reply to a request.
  ///
  /// - Throws: ``ErrorCode/httpUnmatchedRequest`` when the recording has no reply, or no further reply, to the request.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try Task.checkCancellation()
    let exchange = unused.withLock { unused -> HTTPExchange? in
      let exactMatch = unused.firstIndex { $0.isReply(to: request, body, placeholdersMatch: false) }
      guard
        let index = exactMatch ?? unused.firstIndex(where: { $0.isReply(to: request, body, placeholdersMatch: true) })
      else { return nil }
      return unused.remove(at: index)
    }
    guard let exchange else { throw unmatched(request) }
    return exchange.reply(to: request)
  }

  /// The error of a request without a reply. Contains paths, unlike other errors, because a recording belongs to a
  /// test.
  private func unmatched(_ request: HTTPRequest) -> CoherenceError {
    var redactor = HTTPRedactor(redaction)
    let address = redactor.address(of: request)
    var unusedRequests: [String] = []
    for exchange in remaining { unusedRequests.append("\(exchange.method) \(redactor.address(exchange.url))") }
    return CoherenceError(
      .httpUnmatchedRequest,
      "The recording has no reply to \(request.method.rawValue) \(address). "
        + (unusedRequests.isEmpty
          ? "All its replies have been returned." : "It has: \(unusedRequests.joined(separator: ", ")).")
        + " Record it again, or correct the request.", underlying: HTTPFailure(to: request))
  }
}
