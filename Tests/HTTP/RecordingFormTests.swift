import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The form of exchanges in a recording.
@Suite("The form of recordings")
struct RecordingFormTests {
  /// Records one exchange with a reply in JSON.
  private func record(_ request: HTTPRequest, body: String? = nil, reply: String = "") async throws -> HTTPExchange {
    let recorder = HTTPRecorder(StubClient { _, request in .make(to: request, 200, [:], reply) })
    _ = try await recorder.send(request, body: body.map { Data($0.utf8) })
    return try #require(recorder.exchanges.first)
  }

  private let request = HTTPRequest.get("https://example.org/a")

  @Test func `a recording has a line for each value, ordered names, and addresses without escapes`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let recorder = HTTPRecorder(StubClient { _, request in .make(to: request, 200, [:], "[1]") })
    _ = try await recorder.send(request)
    try recorder.write(to: file)
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    #expect(text.contains("\"https://example.org/a\""))
    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let names = ["body", "headerFields", "method", "status", "url"]
    let found = lines.compactMap { line in names.first { line.hasPrefix("\"\($0)\"") } }
    #expect(found == names)
  }

  @Test func `an exchange without bodies has none, and no address of the reply without a redirect`() async throws {
    let exchange = try await record(request)
    #expect(exchange.requestBody == nil && exchange.body == nil && exchange.replyURL == nil)
    #expect(exchange.url == "https://example.org/a" && exchange.method == "GET" && exchange.status == 200)
  }

  @Test(arguments: [(#"{"token":"sesame seeds"}"#, false), (#"{"title":"sesame seeds"}"#, true)])
  func `the length of a body is recorded only if the recorded body has the length`(reply: String, isKept: Bool)
    async throws
  {
    let client = StubClient { _, request in
      .make(to: request, 200, ["Content-Length": "\(reply.utf8.count)", "ETag": "\"1\""], reply)
    }
    let recorder = HTTPRecorder(client)
    _ = try await recorder.send(request)
    let fields = try #require(recorder.exchanges.first).headerFields
    #expect(fields["Content-Length"] == (isKept ? "\(reply.utf8.count)" : nil))
    #expect(fields["ETag"] == "\"1\"")
  }

  @Test func `header fields of one name are joined, and a replay returns them as one`() async throws {
    let vary = HTTPField.Name.vary
    let client = StubClient { _, request in
      var fields = HTTPFields()
      fields.append(HTTPField(name: vary, value: "Accept"))
      fields.append(HTTPField(name: vary, value: "Origin"))
      return HTTPReply(to: request, response: HTTPResponse(status: .ok, headerFields: fields))
    }
    let recorder = HTTPRecorder(client)
    _ = try await recorder.send(request)
    #expect(recorder.exchanges.first?.headerFields.values.sorted() == ["Accept, Origin"])
    let reply = try await HTTPReplay(recorder.exchanges).send(request)
    #expect(reply.response.headerFields[.vary] == "Accept, Origin")
  }

  @Test func `a parameter without a value is recorded if its name is allowed or its value is empty`() async throws {
    let exchange = try await record(.get("https://example.org/a?code=&sesame&page&count=3"))
    #expect(exchange.url == "https://example.org/a?code=&hidden-1&page&count=3")
  }

  @Test func `a secret has one placeholder in all its escaped forms`() async throws {
    let exchange = try await record(.get("https://example.org/a?key=open%20sesame&code=open+sesame&word=open"))
    #expect(exchange.url == "https://example.org/a?key=hidden-1&code=hidden-1&word=hidden-2")
  }

  @Test func `all addresses of links are redacted, and the text between them stays`() async throws {
    let links = [1, 2].map { "<https://example.org/a?sid=s\($0)&page=\($0)>; rel=\"x\($0)\"" }.joined(separator: ", ")
    let client = StubClient { _, request in
      .make(to: request, 200, ["Link": links, "Content-Location": "https://example.org/a?sid=s1"])
    }
    let recorder = HTTPRecorder(client)
    _ = try await recorder.send(request)
    let fields = try #require(recorder.exchanges.first).headerFields
    let link = try #require(fields["Link"])
    let location = try #require(fields["Content-Location"])
    #expect(!link.contains("sid=s") && link.hasSuffix("&page=2>; rel=\"x2\""))
    #expect(link.contains("&page=1>; rel=\"x1\", <"))
    // Equal secrets have equal placeholders, in whichever order the header fields are read.
    let first = try #require(location.split(separator: "=").last)
    #expect(link.hasPrefix("<https://example.org/a?sid=\(first)&page=1>"))
  }

  private static let secrets = #"{"pin":5713,"password":"","secret":null,"token":true,"title":"Blue"}"#

  @Test func `in a request every secret value but null and empty text is replaced, in a reply only text is`()
    async throws
  {
    let exchange = try await record(request, body: Self.secrets, reply: Self.secrets)
    let redacted = #"{"pin":"hidden-1","password":"","secret":null,"token":"hidden-2","title":"Blue"}"#
    #expect(exchange.requestBody == .text(redacted))
    #expect(exchange.body == .text(Self.secrets))
  }

  @Test func `all values within a secret field are replaced, and those beside the field stay`() async throws {
    let reply = #"[{"credentials":{"user":"ada","keys":["k1",{"n":"k2"}]},"open":["k3"]},{"title":"k1"}]"#
    let exchange = try await record(request, reply: reply)
    let keys = #"["hidden-2",{"n":"hidden-3"}]"#
    let redacted = #"[{"credentials":{"user":"hidden-1","keys":\#(keys)},"open":["k3"]},{"title":"k1"}]"#
    #expect(exchange.body == .text(redacted))
  }

  @Test func `a secret is found among spaces of every kind, empty collections and escaped quotation marks`()
    async throws
  {
    let empty = "\r\n\t {\t\"a\" : [ ] , \"b\"\r: { } ,\n"
    let reply = empty + #""note":"a\"b\\", "pass\u0077ord" : "ses\"ame" }"# + "\n\r "
    let exchange = try await record(request, reply: reply)
    #expect(exchange.body == .text(reply.replacingOccurrences(of: #"ses\"ame"#, with: "hidden-1")))
  }

  @Test func `a secret in each of many elements is replaced, and each has the placeholder of its value`() async throws {
    let sent = (1...600).map { #"{"token":"s\#($0)"}"# }.joined(separator: ",")
    let redacted = (1...600).map { #"{"token":"hidden-\#($0)"}"# }.joined(separator: ",")
    let exchange = try await record(request, reply: "[" + sent + "]")
    #expect(exchange.body == .text("[" + redacted + "]"))
  }

  @Test func `a secret at the maximum depth of nesting is replaced alone`() async throws {
    let (open, close) = (String(repeating: "[", count: 510), String(repeating: "]", count: 510))
    let exchange = try await record(request, reply: open + #"{"token":"sesame"}"# + close)
    #expect(exchange.body == .text(open + #"{"token":"hidden-1"}"# + close))
  }

  @Test func `a placeholder of a replayed recording stays when the replay is recorded`() async throws {
    let exchange = try await record(
      .get("https://example.org/a?key=hidden-7"), reply: #"{"token":"hidden-9","secret":"new"}"#)
    #expect(exchange.url == "https://example.org/a?key=hidden-7")
    #expect(exchange.body == .text(#"{"token":"hidden-9","secret":"hidden-1"}"#))
  }

  @Test(arguments: [#"{"title":"Blue"} x"#, "Blue", "", "[1 2]", #"{"title"}"#, "[1,2", #"{"a":1"#, "\"Blue"])
  func `the text of a reply other than JSON is recorded without changes`(reply: String) async throws {
    #expect(try await record(request, reply: reply).body == (reply.isEmpty ? nil : .text(reply)))
  }
}
