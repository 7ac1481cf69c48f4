import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("Bodies written to files", .timeLimit(.minutes(15)))
final class DownloadTests {
  private let directory: URL
  private let file: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    file = directory.appending(path: "albums.json")
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// The names of all files, including temporary ones.
  private var files: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path) } }

  @Test(arguments: ClientKind.allCases)
  func `a download replaces a file by a file that only its owner can read`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    try Data("old".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    let body = String(repeating: "0123456789", count: 200_000)
    let server = try LoopbackServer(replies: [ScriptedReply(headerFields: ["ETag: \"one\""], body: body)])
    let reply = try await client.download(.get(server.url), to: file)
    #expect(reply.status == .ok && reply.body.isEmpty)
    #expect(HTTPValidator(of: reply)?.eTag == "\"one\"")
    #expect(try Data(contentsOf: file) == Data(body.utf8))
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    #expect(try files == ["albums.json"])
  }

  @Test(arguments: ClientKind.allCases, ["/half", "/missing", "/unchanged"])
  func `a download without a complete successful body leaves the file unchanged`(kind: ClientKind, path: String)
    async throws
  {
    let client = kind.makeClient()
    try Data("old".utf8).write(to: file)
    let server = try LoopbackServer { request, connection in
      switch request.target {
      case "/half": connection.send(ScriptedReply().head(length: 100) + "half")
      case "/missing": connection.send(ScriptedReply(status: "404 Not Found", body: "new"))
      default: connection.send(ScriptedReply(status: "304 Not Modified"))
      }
    }
    let request = HTTPRequest.get(server.url.appending(path: path))
    if path == "/unchanged" {
      #expect(try await client.download(request, to: file).isUnchanged)
    } else {
      let error = try await #require(throws: CoherenceError.self) { try await client.download(request, to: file) }
      #expect(error.code == (path == "/half" ? .httpTransferFailed : .httpStatus))
    }
    #expect(try Data(contentsOf: file) == Data("old".utf8))
    #expect(try files == ["albums.json"])
  }

  @Test(arguments: ClientKind.allCases)
  func `the error of a download into a missing directory names the file`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply(body: "[1]")])
    let file = directory.appending(path: "missing/albums.json")
    let request = HTTPRequest.get(server.url)
    let error = try await #require(throws: CoherenceError.self) { try await client.download(request, to: file) }
    #expect(error.code == .inputOutput && error.message.contains(file.path))
  }
}
