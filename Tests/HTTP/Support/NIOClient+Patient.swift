import AsyncHTTPClient
import CoherenceAsyncHTTP
import CoherenceHTTP
import NIOCore

extension NIOClient {
  /// Makes a client that waits an hour for the next byte.
  static func patient(
    _ maximumBodySize: Int = .max, connections: Int = 6, redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) -> NIOClient {
    var configuration = NIOClient.defaultConfiguration
    configuration.timeout = .init(connect: .hours(1), read: .hours(1))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
    return NIOClient(maximumBodySize: maximumBodySize, configuration: configuration, redirects: redirects)
  }
}
