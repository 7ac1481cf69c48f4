import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("Conditional requests")
struct ConditionalTests {
  private struct MergeFailed: Error {}

  /// Replies with 304 to a request with the tag or the date.
  private func makeServer() throws -> LoopbackServer {
    try LoopbackServer { request, connection in
      let fields = request.headerFields
      if fields["if-none-match"] == "\"v1\"" && fields["if-modified-since"] == "Sun, 06 Nov 1994 08:49:37 GMT" {
        connection.send(ScriptedReply(status: "304 Not Modified"))
      } else {
        connection.send(
          ScriptedReply(
            headerFields: ["ETag: \"v1\"", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], body: "[1,2]"))
      }
    }
  }

  @Test func `unchanged content is not merged again`() async throws {
    let server = try makeServer()
    let client = URLSessionClient(maximumBodySize: .max, configuration: .patient)
    let validators = HTTPValidators()
    let first = try await client.ifChanged(.get(server.url), since: validators) { try $0.decode([Int].self) }
    #expect(first == [1, 2])
    let second = try await client.ifChanged(.get(server.url), since: validators) { try $0.decode([Int].self) }
    #expect(second == nil)
    // The validators can be stored for the next process.
    let kept = HTTPValidators(validators.entries)
    let third = try await client.ifChanged(.get(server.url), since: kept) { try $0.decode([Int].self) }
    #expect(third == nil)
    #expect(server.requests.count == 3)
  }

  @Test func `a 304 to a request without conditions is an error, because no content was merged before`() async throws {
    let cache = StubClient { _, request in .make(to: request, 304) }
    let validators = HTTPValidators()
    let request = HTTPRequest.get("https://example.org/albums")
    await #expect {
      _ = try await cache.ifChanged(request, since: validators) { try $0.decode([Int].self) }
    } throws: { error in
      ErrorCode.httpStatus ~= error && ((error as? CoherenceError)?.underlying as? HTTPFailure)?.status == 304
    }
    // A condition of the caller's own is a condition too.
    var conditional = request
    conditional.headerFields[.ifNoneMatch] = "\"v1\""
    let merged = try await cache.ifChanged(conditional, since: validators) { try $0.decode([Int].self) }
    #expect(merged == nil)
  }

  @Test func `content whose merge failed is requested again`() async throws {
    let server = try makeServer()
    let client = URLSessionClient(maximumBodySize: .max, configuration: .patient)
    let validators = HTTPValidators()
    await #expect(throws: MergeFailed.self) {
      try await client.ifChanged(.get(server.url), since: validators) { _ in throw MergeFailed() }
    }
    #expect(validators.entries.isEmpty)
    let merged = try await client.ifChanged(.get(server.url), since: validators) { try $0.decode([Int].self) }
    #expect(merged == [1, 2])
  }

  @Test func `each address has its own validator`() async throws {
    let client = StubClient { _, request in .make(to: request, 200, ["ETag": "\"\(request.path ?? "")\""]) }
    let validators = HTTPValidators()
    for path in ["a", "b"] {
      _ = try await client.ifChanged(.get("https://example.org/\(path)"), since: validators) { _ in }
    }
    #expect(validators[.get("https://example.org/a")]?.eTag == "\"/a\"")
    #expect(validators[.get("https://example.org/b")]?.eTag == "\"/b\"")
    #expect(validators[.get("https://example.org/c")] == nil)
  }

  @Test func `a reply without success is an error and keeps the validator`() async throws {
    let request = HTTPRequest.get("https://example.org/a")
    let client = StubClient { _, request in .make(to: request, 500) }
    let validators = HTTPValidators()
    validators[request] = HTTPValidator(eTag: "\"v1\"")
    await #expect(throws: CoherenceError.self) { try await client.ifChanged(request, since: validators) { _ in } }
    #expect(validators[request]?.eTag == "\"v1\"")
  }

  @Test func `content is requested again after an older reply was merged during the merge of a newer one`() async throws
  {
    let request = HTTPRequest.get("https://example.org/a")
    // The first request gets the newer reply.
    let client = StubClient { number, request in .make(to: request, 200, ["ETag": number == 0 ? "\"v2\"" : "\"v1\""]) }
    let validators = HTTPValidators()
    _ = try await client.ifChanged(request, since: validators) { _ in
      _ = try await client.ifChanged(request, since: validators) { _ in }
    }
    #expect(validators[request] == nil)
  }

  @Test func `concurrent merges of equal content keep its validator`() async throws {
    let request = HTTPRequest.get("https://example.org/a")
    let client = StubClient { _, request in .make(to: request, 200, ["ETag": "\"v1\""]) }
    let validators = HTTPValidators()
    _ = try await client.ifChanged(request, since: validators) { _ in
      _ = try await client.ifChanged(request, since: validators) { _ in }
    }
    #expect(validators[request]?.eTag == "\"v1\"")
  }

  @Test func `content is requested again after three requests at once were merged with different content`() async throws
  {
    let request = HTTPRequest.get("https://example.org/a")
    let tags = ["\"v2\"", "\"v2\"", "\"v1\""]
    let client = StubClient { number, request in .make(to: request, 200, ["ETag": tags[number]]) }
    let validators = HTTPValidators()
    _ = try await client.ifChanged(request, since: validators) { _ in
      _ = try await client.ifChanged(request, since: validators) { _ in
        _ = try await client.ifChanged(request, since: validators) { _ in }
      }
      #expect(validators[request] == nil)
    }
    #expect(validators[request] == nil)
  }

  @Test func `a validator is removed when the merge of newer content fails`() async throws {
    let request = HTTPRequest.get("https://example.org/a")
    let client = StubClient { _, request in .make(to: request, 200, ["ETag": "\"v2\""]) }
    let validators = HTTPValidators()
    validators[request] = HTTPValidator(eTag: "\"v1\"")
    await #expect(throws: MergeFailed.self) {
      try await client.ifChanged(request, since: validators) { _ in throw MergeFailed() }
    }
    #expect(validators[request] == nil)
  }

  @Test func `a removal of all validators also concerns content that is being merged`() async throws {
    let request = HTTPRequest.get("https://example.org/a")
    let client = StubClient { _, request in .make(to: request, 200, ["ETag": "\"v1\""]) }
    let validators = HTTPValidators()
    _ = try await client.ifChanged(request, since: validators) { _ in validators.removeAll() }
    #expect(validators[request] == nil)
    _ = try await client.ifChanged(request, since: validators) { _ in }
    #expect(validators[request]?.eTag == "\"v1\"")
  }

  @Test func `above the limit the least recently used validators are removed`() async throws {
    let client = StubClient { _, request in .make(to: request, 200, ["ETag": "\"v1\""]) }
    let validators = HTTPValidators(limit: 4)
    for path in ["a", "b", "c", "d", "a", "e"] {
      _ = try await client.ifChanged(.get("https://example.org/\(path)"), since: validators) { _ in }
    }
    #expect(validators.entries.keys.sorted() == ["a", "d", "e"].map { "https://example.org/\($0)" })
    #expect(HTTPValidators(validators.entries, limit: 0).entries.count == 1)
  }

  @Test func `a reply without a validator removes the validator of the former content`() async throws {
    let request = HTTPRequest.get("https://example.org/a")
    let client = StubClient { number, request in .make(to: request, 200, number == 0 ? ["ETag": "\"v1\""] : [:]) }
    let validators = HTTPValidators()
    _ = try await client.ifChanged(request, since: validators) { _ in }
    #expect(validators[request]?.eTag == "\"v1\"")
    _ = try await client.ifChanged(request, since: validators) { _ in }
    #expect(validators.entries.isEmpty)
  }

  @Test func `only requests with GET have validators, and all validators can be removed`() async throws {
    let get = HTTPRequest.get("https://example.org/a")
    var head = get
    head.method = .head
    let client = StubClient { _, request in .make(to: request, 200, ["ETag": "\"v1\""]) }
    let validators = HTTPValidators()
    _ = try await client.ifChanged(head, since: validators) { _ in }
    #expect(validators.entries.isEmpty)
    _ = try await client.ifChanged(get, since: validators) { _ in }
    _ = try await client.ifChanged(head, since: validators) { _ in }
    #expect(client.requests.map { $0.headerFields[.ifNoneMatch] } == [nil, nil, nil])
    validators.removeAll()
    _ = try await client.ifChanged(get, since: validators) { _ in }
    #expect(client.requests.last?.headerFields[.ifNoneMatch] == nil)
  }
}
