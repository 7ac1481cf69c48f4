import CoherenceAsyncHTTP
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A client that sends requests to servers. A test of transfers runs with each.
enum ClientKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case urlSession, nio

  var testDescription: String { rawValue }

  /// Makes a client that waits an hour for the next byte. The ordinary limit of a minute passes where the machine is busy
  /// with other tests.
  ///
  /// - Parameter connections: The maximum number of simultaneous requests to one origin.
  func makeClient(
    maximumBodySize: Int = .max, connections: Int = 6, redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) -> any QueueingClient {
    switch self {
    case .urlSession:
      let configuration = URLSessionConfiguration.patient
      configuration.httpMaximumConnectionsPerHost = connections
      return URLSessionClient(maximumBodySize: maximumBodySize, configuration: configuration, redirects: redirects)
    case .nio: return NIOClient.patient(maximumBodySize, connections: connections, redirects: redirects)
    }
  }
}

/// A client whose waiting requests a test can count, and whose transfers a test can begin with a buffer of its own.
protocol QueueingClient: HTTPClient {
  var waitingCount: Int { get }
  func begin(_ hop: HTTPHop, into buffer: BodyBuffer) async throws -> HTTPResponse
}

extension URLSessionClient: QueueingClient {}
extension NIOClient: QueueingClient {}
