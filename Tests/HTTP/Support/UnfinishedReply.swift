import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// A server that sends a part of its reply, and then waits until the client closes the connection.
struct UnfinishedReply {
  let server: LoopbackServer
  private let isHalfway = Gate()
  private let isClosed = Gate()

  /// - Parameter part: The head of the reply, and a part of its body.
  init(_ part: String) throws {
    let (isHalfway, isClosed) = (isHalfway, isClosed)
    server = try LoopbackServer { _, connection in
      connection.send(part)
      isHalfway.open()
      connection.waitUntilClientCloses()
      isClosed.open()
    }
  }

  /// Cancels a request during the reply. Returns when the request has ended and its connection is closed.
  func cancelRequest(of client: any HTTPClient) async throws {
    let task = Task { try await client.send(.get(server.url)) }
    await isHalfway.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await isClosed.wait()
  }
}
