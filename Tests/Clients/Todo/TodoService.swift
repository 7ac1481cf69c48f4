import Coherence
import CoherenceHTTP
import CoherenceOutbox
import Foundation
import HTTPTypes

/// The requests of a client to the server.
struct TodoService: Sendable {
  let http: any HTTPClient
  let url: URL

  /// A service on the network.
  init(_ url: URL, limit: Duration = .seconds(10)) {
    http = URLSessionClient(maximumBodySize: 10_000_000).limited(to: limit)
    self.url = url
  }

  init(_ url: URL, by http: any HTTPClient) {
    self.http = http
    self.url = url
  }

  // MARK: Reading

  func page(_ kind: TodoKind, since cursor: String?) async throws -> TodoPage {
    try await http.send(request(.get, [kind.rawValue], query: ["since": cursor])).successful().decode(TodoPage.self)
  }

  func document(_ kind: TodoKind, _ id: String) async throws -> TodoDocument {
    try await http.send(request(.get, [kind.rawValue, id])).successful().decode(TodoDocument.self)
  }

  // MARK: Edits

  /// Sends an edit of the outbox, and returns the server's decision.
  func send<Object>(_ edit: ForwardRequest<Object>, as kind: TodoKind) async throws -> ForwardAnswer {
    let id = edit.keys["id"]?.integer
    let reply: HTTPReply
    switch (edit.kind, id) {
    case (.insert, _): reply = try await call(.post, [kind.rawValue], TodoEdit(edit), edit.idempotencyKey)
    case (.update, let id?):
      reply = try await call(.patch, [kind.rawValue, "\(id)"], TodoEdit(edit), edit.idempotencyKey)
    case (.delete, let id?): reply = try await call(.delete, [kind.rawValue, "\(id)"], nil, edit.idempotencyKey)
    default: return .rejected(TodoError("The record has no key of the server."))
    }
    switch reply.status.code {
    case 200, 201: return .accepted(try reply.decode(TodoDocument.self).answer)
    case 204: return .accepted
    case 404, 410: return edit.kind == .delete ? .accepted : .rejected(TodoError("The server has deleted the record."))
    case 409: return .conflict(try reply.decode(TodoDocument.self).answer)
    case 400..<500 where reply.status.code != 429: return .rejected(TodoError("The server refuses the edit."))
    default:
      try reply.successful()
      return .rejected(TodoError("The server replied with an unexpected status."))
    }
  }

  /// Appends a part to a file on the server.
  func upload(_ part: Data, of name: String, at offset: Int) async throws {
    try await http.send(request(.put, ["uploads", name], query: ["offset": "\(offset)"]), body: part).successful()
  }

  private func call(_ method: HTTPRequest.Method, _ path: [String], _ edit: TodoEdit?, _ key: UUID) async throws
    -> HTTPReply
  {
    var request = request(method, path)
    if let field = HTTPField.Name("Idempotency-Key") { request.headerFields[field] = key.uuidString }
    return try await http.send(request, body: try edit.map { try JSONEncoder().encode($0) })
  }

  private func request(_ method: HTTPRequest.Method, _ path: [String], query: [String: String?] = [:]) -> HTTPRequest {
    var components = URLComponents(
      url: path.reduce(url) { $0.appendingPathComponent($1) }, resolvingAgainstBaseURL: true)
    let items = query.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
    if !items.isEmpty { components?.queryItems = items }
    return HTTPRequest(method: method, url: components?.url ?? url)
  }
}

struct TodoError: LoggableError, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
  var logDescription: String { description }
}

// MARK: Formats

extension TodoEdit {
  /// The names of the fields that only the server sets.
  private static let serverNames: Set<String> = ["id", "revision"]

  init(_ request: ForwardRequest<some ManagedObject>) {
    for (name, value) in request.values where !Self.serverNames.contains(name) { fields[name] = TodoField(value) }
    for (name, value) in request.base where !Self.serverNames.contains(name) { base[name] = TodoField(value) }
    for (name, reference) in request.references { fields[name] = reference?["id"].map { TodoField($0) } ?? .null }
    // The edits of tags have the members of both sides: "Tag.tasks" comes before "TodoTask.tags".
    added = request.members["tasks"]?.added.compactMap { $0["id"]?.integer } ?? []
    removed = request.members["tasks"]?.removed.compactMap { $0["id"]?.integer } ?? []
  }
}

extension TodoField {
  init(_ value: AttributeValue) {
    self =
      switch value {
      case .bool(let value): .bool(value)
      case .int(let value): .int(value)
      case .string(let value): .text(value)
      default: .null
      }
  }

  var value: (any AttributeConvertible)? {
    switch self {
    case .bool(let value): value
    case .int(let value): value
    case .text(let value): value
    case .null, .keys: nil
    }
  }
}

extension TodoDocument {
  /// Returns the values of a record for the reply to an edit.
  var answer: [String: (any AttributeConvertible)?] {
    var values: [String: (any AttributeConvertible)?] = ["id": id, "revision": revision]
    for name in ["name", "title", "isDone"] { if let field = fields[name] { values[name] = field.value } }
    return values
  }

  /// The record to merge.
  var record: MergeRecord {
    var record = MergeRecord(["id": id, "revision": revision])
    for name in ["name", "title", "isDone"] { if let value = fields[name]?.value { record.values[name] = value } }
    switch fields["list"] {
    case .int(let key)?: record.links["list"] = .one(MergeKey(key))
    case .null?: record.links["list"] = MergeLink.none
    default: break
    }
    if case .keys(let keys)? = fields["tags"] { record.links["tags"] = .many(keys.map { MergeKey($0) }) }
    return record
  }
}

extension AttributeValue {
  var integer: Int64? { if case .int(let value) = self { value } else { nil } }
}
