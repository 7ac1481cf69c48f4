import AsyncHTTPClient

/// The connections of a client. The release of the last reference closes them.
final class Connections: Sendable {
  let client: AsyncHTTPClient.HTTPClient

  init(_ client: AsyncHTTPClient.HTTPClient) { self.client = client }

  // The library traps if its client is released without a shutdown. After `close`, this second shutdown only reports an
  // error, which is ignored.
  deinit { client.shutdown { _ in } }

  /// Closes all connections, and waits until they are closed.
  func close() async { try? await client.shutdown() }
}
