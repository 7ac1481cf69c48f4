import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The validators of a program, without a server.
@Suite("Validators")
struct ValidatorTests {
  private let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  private func request(_ path: String) -> HTTPRequest { .get("https://example.org/\(path)") }
  private func paths(_ validators: HTTPValidators) -> [String] {
    validators.entries.keys.map { String($0.suffix(1)) }.sorted()
  }

  private func makeValidators() -> HTTPValidators {
    let validators = HTTPValidators(limit: 4)
    for path in ["a", "b", "c", "d"] { validators[request(path)] = HTTPValidator(eTag: "\"v1\"") }
    return validators
  }

  @Test func `as many validators as the limit stay, and one more removes a quarter`() {
    let validators = makeValidators()
    #expect(paths(validators) == ["a", "b", "c", "d"])
    validators[request("e")] = HTTPValidator(eTag: "\"v1\"")
    #expect(paths(validators) == ["c", "d", "e"])
    #expect(paths(HTTPValidators(makeValidators().entries, limit: 4)) == ["a", "b", "c", "d"])
  }

  @Test func `a request for unchanged content is a use of its validator`() async throws {
    let validators = makeValidators()
    let client = StubClient { _, request in .make(to: request, 304) }
    let merged = try await client.ifChanged(request("a"), since: validators) { _ in true }
    #expect(merged == nil)
    validators[request("e")] = HTTPValidator(eTag: "\"v1\"")
    #expect(paths(validators) == ["a", "d", "e"])
  }

  @Test func `a validator can be removed, and a request other than GET has none`() {
    let validators = makeValidators()
    validators[request("b")] = nil
    #expect(paths(validators) == ["a", "c", "d"])
    var head = request("a")
    head.method = .head
    validators[head] = nil
    #expect(validators[head] == nil)
    #expect(validators[request("a")]?.eTag == "\"v1\"")
  }

  @Test func `a validator has the fields of its reply, and adds the conditions of these fields alone`() throws {
    let plain = request("a")
    #expect(HTTPValidator(of: .make(to: plain)) == nil)
    let dated = try #require(HTTPValidator(of: .make(to: plain, 200, ["Last-Modified": date])))
    #expect(dated == HTTPValidator(lastModified: date))
    let tagged = try #require(HTTPValidator(of: .make(to: plain, 200, ["ETag": "\"v1\""])))
    #expect(tagged == HTTPValidator(eTag: "\"v1\""))
    #expect(dated.applied(to: plain).headerFields == [.ifModifiedSince: date])
    #expect(tagged.applied(to: plain).headerFields == [.ifNoneMatch: "\"v1\""])
  }
}
