import AsyncHTTPClient
import CoherenceAsyncHTTP
import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import NIOCore
import Testing

/// The requests and the configuration of the client on SwiftNIO.
@Suite("Requests of the client on SwiftNIO")
struct NIORequestTests {
  @Test func `the cookies of a request arrive in one header field`() async throws {
    let server = try LoopbackServer(replies: [ScriptedReply()])
    var request = HTTPRequest.get(server.url)
    for cookie in ["a=1", "b=2"] { request.headerFields.append(HTTPField(name: .cookie, value: cookie)) }
    _ = try await NIOClient.patient().send(request)
    #expect(server.requests.map { $0.headerFields["cookie"] } == ["a=1; b=2"])
  }

  @Test func `the header fields of a request replace those of the client`() async throws {
    let server = try LoopbackServer(replies: [ScriptedReply()])
    var request = HTTPRequest.get(server.url)
    request.headerFields[.userAgent] = "music/1"
    request.headerFields[.accept] = "application/json"
    _ = try await NIOClient.patient().send(request)
    #expect(server.requests.map { $0.headerFields["user-agent"] } == ["music/1"])
    #expect(server.requests.map { $0.headerFields["accept"] } == ["application/json"])
    #expect(server.requests.map { $0.headerFields["cookie"] } == [nil])
  }

  @Test func `by default a client waits a minute, has six connections to an origin, and traces nothing`() {
    let configuration = NIOClient.defaultConfiguration
    #expect(configuration.timeout.connect == .seconds(60))
    #expect(configuration.timeout.read == .seconds(60))
    #expect(configuration.timeout.write == .seconds(60))
    #expect(configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit == 6)
    let hasTracer = configuration.tracing.tracer != nil
    #expect(!hasTracer)
  }
}
