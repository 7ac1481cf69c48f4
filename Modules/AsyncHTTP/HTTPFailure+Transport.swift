import AsyncHTTPClient
import CoherenceCore
import CoherenceHTTP
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL

extension HTTPFailure {
  /// Returns the error for a transfer that ended with an error of the library. Omits texts of the library with possible
  /// quotations of the address or header fields.
  ///
  /// - Parameter limit: The maximum number of bytes in a body.
  func broken(byTransport error: any Error, limit: Int = .max) -> any Error {
    switch error {
    case is CancellationError, is CoherenceError: return error
    case NIOHTTPDecompression.DecompressionError.limit: return bodyTooLarge(limit)
    case let error as HTTPClientError: return broken(by: error)
    case let error as NIOConnectionError: return broken(by: error)
    case is HTTPParserError: return broken("the connection ended within the reply, or the reply is not HTTP")
    case is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
      return broken("the compressed body is damaged")
    case is ChannelError: return broken("the connection closed")
    case let error as IOError: return broken(String(cString: strerror(error.errnoCode)))
    // The texts of these errors name certificates, steps of the handshake and the host, but no other part of the
    // request. File names and lines of the library's sources are removed.
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
      let description = "\(error)".replacing(#/ at [^\])]+/#, with: "")
      return broken("TLS failed with '\(description)'")
    default: return broken("the transfer failed with a '\(type(of: error))'")
    }
  }

  /// The error for an error of AsyncHTTPClient, which does not say the length of an exceeded time limit.
  private func broken(by error: HTTPClientError) -> CoherenceError {
    if Self.timeLimits.contains(error) { return timedOut(after: nil) }
    // Retryable, because the request may succeed with another client. An outbox therefore keeps its edit.
    if error == .alreadyShutdown { return broken("the client is shut down") }
    if error == .cancelled { return broken("the client is shut down, or the server gave up the connection") }
    let description = error.shortDescription
    return broken("AsyncHTTPClient reports '\(description)'", isRetryable: !Self.refusals.contains(description))
  }

  /// The error for the failed attempts to connect to the addresses of a host: a time limit if an attempt has exceeded it,
  /// and otherwise the reason of the last attempt.
  private func broken(by error: NIOConnectionError) -> CoherenceError {
    for attempt in error.connectionErrors {
      if case ChannelError.connectTimeout = attempt.error { return timedOut(after: nil) }
    }
    if let attempt = error.connectionErrors.last?.error as? IOError {
      return broken(String(cString: strerror(attempt.errnoCode)))
    }
    return broken(error.connectionErrors.isEmpty ? "the host name has no address" : "no connection could be made")
  }

  private static let timeLimits: [HTTPClientError] = [
    .readTimeout, .writeTimeout, .connectTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout,
    .httpProxyHandshakeTimeout, .getConnectionFromPoolTimeout, .deadlineExceeded,
  ]

  /// The short descriptions of errors about the request itself. A retry of the request would fail again.
  private static let refusals: Set<String> = Set(
    [
      HTTPClientError.invalidURL, .emptyHost, .missingSocketPath, .emptyScheme, .unsupportedScheme(""),
      .identityCodingIncorrectlyPresent, .traceRequestWithBody,
      .invalidHeaderFieldNames([]), .invalidHeaderFieldValues([]), .bodyLengthMismatch,
    ].map(\.shortDescription))
}
