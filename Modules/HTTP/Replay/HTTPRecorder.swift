import CoherenceCore
import Foundation
import HTTPTypes
import Synchronization

/// Passes requests on to a client and records what comes back, for an ``HTTPReplay`` to replay in tests.
///
/// ```swift
/// let recorder = HTTPRecorder(URLSessionClient())
/// try await RefreshAlbums(http: recorder).run()
/// try recorder.write(to: file)
/// ```
public final class HTTPRecorder: HTTPClient {
  private let base: any HTTPClient
  private let secrets: HTTPSecrets
  private let recorded = Mutex<[HTTPExchange]>([])

  public init(_ base: any HTTPClient, secrets: HTTPSecrets = HTTPSecrets()) {
    self.base = base
    self.secrets = secrets
  }

  /// What was recorded up to now, in the order of the replies.
  public var exchanges: [HTTPExchange] { recorded.withLock { $0 } }

  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let reply = try await base.send(request, body: body)
    let exchange = HTTPExchange(request, body, reply, secrets)
    recorded.withLock { $0.append(exchange) }
    return reply
  }

  /// Writes what was recorded as JSON.
  ///
  /// - Throws: ``ErrorCode/inputOutput`` when the file cannot be written.
  public func write(to file: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try encoder.encode(exchanges).write(to: file, options: .atomic)
    } catch {
      throw CoherenceError(
        .inputOutput, "The recording cannot be written to '\(file.path)'; check the directory.", underlying: error)
    }
  }
}
