import AsyncHTTPClient
import CoherenceAsyncHTTP
import CoherenceHTTP
import Foundation
import NIOCore
import Testing

/// The examples of the page of `CoherenceAsyncHTTP`.
@Suite("The configuration of the client on SwiftNIO")
struct ConfigurationTests {
  @Test func `a client is wrapped with a time limit and retries`() async throws {
    let server = try LoopbackServer(replies: [ScriptedReply(status: "503 Busy"), ScriptedReply(body: "[1]")])
    let http = NIOClient(maximumBodySize: 10_000_000).limited(to: .seconds(30)).retrying()
    #expect(try await http.send(.get(server.url), decoding: [Int].self) == [1])
  }

  @Test func `a client has the limits of its configuration`() async throws {
    let server = try LoopbackServer(replies: [ScriptedReply(body: "[1]")])
    var configuration = NIOClient.defaultConfiguration
    configuration.timeout.connect = .seconds(5)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 2
    let http = NIOClient(configuration: configuration)
    #expect(try await http.send(.get(server.url), decoding: [Int].self) == [1])
  }
}
