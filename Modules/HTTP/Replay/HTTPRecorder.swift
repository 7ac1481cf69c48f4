import CoherenceCore
public import Foundation
public import HTTPTypes
import Synchronization

/// Passes requests on to a client and records what comes back, for an ``HTTPReplay`` to replay in tests.
///
/// ```swift
/// let recorder = HTTPRecorder(URLSessionClient())
/// try await RefreshAlbums(http: recorder).run()
/// try recorder.write(to: file)
/// ```
///
/// A streamed reply is recorded as a whole: it is in memory before its first part is handed out.
///
/// A recording has no credentials as far as an ``HTTPRedaction`` can know them: read it before others do.
public final class HTTPRecorder: HTTPClient {
  private let base: any HTTPClient
  private let recording: Mutex<Recording>

  private struct Recording {
    var redactor: HTTPRedactor
    var exchanges: [HTTPExchange] = []
  }

  /// - Parameter redaction: What is recorded, and what is replaced.
  public init(_ base: any HTTPClient, redaction: HTTPRedaction = HTTPRedaction()) {
    self.base = base
    recording = Mutex(Recording(redactor: HTTPRedactor(redaction)))
  }

  /// What was recorded up to now, in the order of the replies.
  public var exchanges: [HTTPExchange] { recording.withLock { $0.exchanges } }

  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let reply = try await base.send(request, body: body)
    recording.withLock { recording in
      let exchange = HTTPExchange(request, body, reply, by: &recording.redactor)
      recording.exchanges.append(exchange)
    }
    return reply
  }

  /// Writes what was recorded as JSON, into a file that its owner alone can read and write, even where it replaces one
  /// that others could read.
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
