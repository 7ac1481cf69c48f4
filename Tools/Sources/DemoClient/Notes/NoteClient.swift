import Coherence
import CoherenceHTTP
import CoherenceOutbox
import DemoService
import Foundation
import HTTPTypes

/// Sends the edits of notes to the service, each with its idempotency key.
struct NoteClient: Sendable {
  private let base: URL
  // The HTTP client needs no retries, because the outbox repeats an edit under the same key, even in a later process.
  private let http: any HTTPClient = URLSessionClient().limited(to: .seconds(10))

  init(base: URL) { self.base = base }

  /// All notes of the service.
  func notes() async throws -> [NoteRecord] {
    try await send(.get, "notes").decode(NoteList.self).notes
  }

  // MARK: Edits

  func insert(_ edit: ForwardRequest<Note>) async throws -> ForwardAnswer {
    guard let id = edit[\.id], let packageName = edit[\.packageName] else { return Self.incomplete }
    let note = NoteRecord(id: id, packageName: packageName, text: edit[\.text] ?? "", stars: edit[\.stars] ?? 0)
    return try Self.answer(try await send(.post, "notes", note, edit.idempotencyKey))
  }

  func update(_ edit: ForwardRequest<Note>) async throws -> ForwardAnswer {
    guard let id = edit.key(\.id) else { return Self.incomplete }
    let change = NoteChange(
      base: NoteFields(text: edit.base(\.text), stars: edit.base(\.stars)),
      values: NoteFields(text: edit[\.text], stars: edit[\.stars]))
    return try Self.answer(try await send(.patch, "notes/\(id)", change, edit.idempotencyKey))
  }

  func delete(_ edit: ForwardRequest<Note>) async throws -> ForwardAnswer {
    guard let id = edit.key(\.id) else { return Self.incomplete }
    let reply = try await send(.delete, "notes/\(id)", key: edit.idempotencyKey)
    // Another client has already deleted the note, so the delete has succeeded.
    if reply.status != .notFound { try reply.successful() }
    return .accepted
  }

  private static var incomplete: ForwardAnswer {
    .rejected(DemoError("The edit has no identifier of a note; drop its entry."))
  }

  /// Returns the decision in a reply. Throws for a reply without a decision, so that the outbox sends the edit again.
  private static func answer(_ reply: HTTPReply) throws -> ForwardAnswer {
    switch reply.status {
    case .conflict:
      let note = try JSONDecoder().decode(NoteRecord.self, from: reply.body)
      return .conflict(["text": note.text, "stars": note.stars])
    case .notFound: return .rejected(DemoError("The service has no such note any more."))
    default: return .accepted(["revision": try reply.decode(NoteRecord.self).revision])
    }
  }

  // MARK: Requests

  private func send(_ method: HTTPRequest.Method, _ path: String, _ body: some Encodable, _ key: UUID) async throws
    -> HTTPReply
  {
    try await send(method, path, body: try JSONEncoder().encode(body), key: key)
  }

  private func send(
    _ method: HTTPRequest.Method, _ path: String, body: Data? = nil, key: UUID? = nil
  ) async throws -> HTTPReply {
    guard let url = URL(string: path, relativeTo: base)?.absoluteURL else {
      throw DemoError("'\(base.absoluteString)' is not the URL of a service; give one like http://127.0.0.1:8080.")
    }
    // Uses a new connection for the reason in `ServiceClient`.
    var request = HTTPRequest(method: method, url: url, headerFields: [.connection: "close"])
    if let key, let name = HTTPField.Name("Idempotency-Key") { request.headerFields[name] = key.uuidString }
    return try await http.send(request, body: body)
  }
}
