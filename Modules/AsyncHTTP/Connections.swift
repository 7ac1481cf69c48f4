import AsyncHTTPClient

/// The connections of a client. Closed with the last reference.
final class Connections: Sendable {
  let client: AsyncHTTPClient.HTTPClient

  init(_ client: AsyncHTTPClient.HTTPClient) { self.client = client }

  // The library stops the program if its client is released without a shutdown. A second shutdown is an error without
  // effect.
  deinit { client.shutdown { _ in } }

  /// Closes all connections, and waits until they are closed.
  func close() async { try? await client.shutdown() }
}
