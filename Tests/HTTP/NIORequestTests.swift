import AsyncHTTPClient
import CoherenceAsyncHTTP
import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import NIOCore
import Synchronization
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

  @Test func `a request to a port out of range is refused`() async throws {
    let request = HTTPRequest.get("http://127.0.0.1:65536/")
    let error = try await #require(throws: CoherenceError.self) { try await NIOClient.patient().send(request) }
    #expect(error.code == .httpTransferFailed && !error.isRetryable)
  }

  @Test func `a server with TLS is offered HTTP 1.1 alone`() async throws {
    let greeting = Mutex(Data())
    let server = try LoopbackServer(raw: { connection in
      let received = connection.receiveGreeting()
      greeting.withLock { $0 = received }
    })
    var components = try #require(URLComponents(url: server.url, resolvingAgainstBaseURL: true))
    components.scheme = "https"
    let request = HTTPRequest.get(try #require(components.url))
    let error = try await #require(throws: CoherenceError.self) { try await NIOClient.patient().send(request) }
    #expect(error.code == .httpTransferFailed)
    // The offered protocols stand in the greeting as a list (RFC 7301, 3.1): its length, and each name after its length.
    let offer = Data([0, 9, 8] + Array("http/1.1".utf8))
    let hasOffer = greeting.withLock { $0.range(of: offer) != nil }
    #expect(hasOffer)
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
