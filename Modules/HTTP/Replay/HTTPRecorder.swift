import CoherenceCore
public import Foundation
public import HTTPTypes
import Synchronization

/// Forwards requests to a client and records requests and replies. An ``HTTPReplay`` replays them in tests.
///
/// ```swift
/// let recorder = HTTPRecorder(URLSessionClient())
/// try await connect.execute(RefreshAlbums(http: recorder, url: url)).value
/// try recorder.write(to: file)
/// ```
///
/// A streamed reply is recorded completely, and is in memory before its first part is returned.
///
/// An ``HTTPRedaction`` removes the credentials that it can recognize: review a recording before publishing it. May be used
/// from any thread.
public final class HTTPRecorder: HTTPClient {
  private let base: any HTTPClient
  private let recording: Mutex<Recording>

  private struct Recording {
    var redactor: HTTPRedactor
    var exchanges: [HTTPExchange] = []
  }

  /// Wraps a client.
  ///
  /// - Parameters:
  ///   - base: The client that sends the requests.
  ///   - redaction: The values to replace.
  public init(_ base: any HTTPClient, redaction: HTTPRedaction = HTTPRedaction()) {
    self.base = base
    recording = Mutex(Recording(redactor: HTTPRedactor(redaction)))
  }

  /// The exchanges recorded so far, in the order of the replies.
  public var exchanges: [HTTPExchange] { recording.withLock { $0.exchanges } }

  /// Sends a request through the wrapped client, and records a complete reply.
  ///
  /// - Throws: The errors of the wrapped client. A failed request is not recorded.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let reply = try await base.send(request, body: body)
    recording.withLock { recording in
      let exchange = HTTPExchange(request, body, reply, by: &recording.redactor)
      recording.exchanges.append(exchange)
    }
    return reply
  }

  /// Writes the exchanges as JSON to a file that only its owner can read and write, also when it replaces a file with other
  /// permissions.
  ///
  /// - Throws: ``ErrorCode/inputOutput`` when the file cannot be written.
  public func write(to file: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try PrivateFile.write(try encoder.encode(exchanges), to: file)
    } catch {
      throw CoherenceError(
        .inputOutput, "The recording cannot be written to '\(file.path)'; check the directory.", underlying: error)
    }
  }
}
