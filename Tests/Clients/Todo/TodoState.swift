import Foundation
import Listener

/// The documents of a server, and their changes.
struct TodoState: Sendable {
  private struct Shelf: Sendable {
    var documents: [Int64: TodoDocument] = [:]
    /// The revisions of deletions, by document.
    var deleted: [Int64: Int64] = [:]
  }

  private var shelves: [TodoKind: Shelf] = [:]
  private let pageSize: Int
  private var lastID: Int64 = 0
  private(set) var revision: Int64 = 0
  /// The latest revision whose deletions are forgotten.
  var horizon: Int64 = 0
  var replies: [String: TodoReply] = [:]
  var uploads: [String: Data] = [:]
  var requests: [String] = []

  init(pageSize: Int) { self.pageSize = pageSize }

  func documents(_ kind: TodoKind) -> [Int64: TodoDocument] { shelves[kind]?.documents ?? [:] }

  // MARK: Requests

  mutating func reply(to request: HTTPListenerRequest) -> TodoReply {
    let parts = request.path.split(separator: "/").map(String.init)
    if parts.count == 2, parts[0] == "uploads" { return upload(parts[1], request) }
    guard let kind = parts.first.flatMap(TodoKind.init(rawValue:)) else { return TodoReply(status: 404) }
    switch (request.method, parts.count) {
    case ("GET", 1): return Self.reply(200, page(kind, since: request.query["since"].flatMap { Int64($0) } ?? 0))
    case ("POST", 1):
      guard let edit = edit(request) else { return TodoReply(status: 400) }
      if kind == .tags, let known = documents(.tags).values.first(where: { $0.fields["name"] == edit.fields["name"] }) {
        // A tag is its name: two clients that make one tag share it.
        changeMembers(of: known.id, edit)
        return Self.reply(200, known)
      }
      if case .int(let list)? = edit.fields["list"], documents(.lists)[list] == nil { return TodoReply(status: 422) }
      return Self.reply(201, insert(kind, edit))
    default: break
    }
    guard parts.count == 2, let id = Int64(parts[1]) else { return TodoReply(status: 404) }
    if shelves[kind]?.deleted[id] != nil { return TodoReply(status: 410) }
    guard let document = documents(kind)[id] else { return TodoReply(status: 404) }
    switch request.method {
    case "GET": return Self.reply(200, document)
    case "DELETE": return delete(kind, id)
    default:
      guard let edit = edit(request) else { return TodoReply(status: 400) }
      return update(kind, id, edit)
    }
  }

  private func edit(_ request: HTTPListenerRequest) -> TodoEdit? {
    try? JSONDecoder().decode(TodoEdit.self, from: request.body)
  }

  private static func reply(_ status: Int, _ body: some Encodable) -> TodoReply {
    TodoReply(status: status, body: (try? JSONEncoder().encode(body)) ?? Data())
  }

  private mutating func upload(_ name: String, _ request: HTTPListenerRequest) -> TodoReply {
    let offset = request.query["offset"].flatMap { Int($0) } ?? 0
    let content = uploads[name] ?? Data()
    guard offset <= content.count else { return TodoReply(status: 416) }
    uploads[name] = content.prefix(offset) + request.body
    return TodoReply(status: 200)
  }

  // MARK: Changes

  private mutating func nextRevision() -> Int64 {
    revision += 1
    return revision
  }

  mutating func insert(_ kind: TodoKind, _ edit: TodoEdit) -> TodoDocument {
    lastID += 1
    var document = TodoDocument(id: lastID, revision: nextRevision(), fields: edit.fields)
    if kind == .tasks { document.fields["tags"] = document.fields["tags"] ?? .keys([]) }
    shelves[kind, default: Shelf()].documents[document.id] = document
    if kind == .tags { changeMembers(of: document.id, edit) }
    return document
  }

  /// Changes a document, unless a value is neither the one that the edit is based on nor the edit's own.
  mutating func update(_ kind: TodoKind, _ id: Int64, _ edit: TodoEdit) -> TodoReply {
    guard var document = documents(kind)[id] else { return TodoReply(status: 410) }
    let isConflict = edit.base.contains { name, base in
      let present = document.fields[name] ?? .null
      return present != base && present != edit.fields[name]
    }
    if isConflict { return Self.reply(409, document) }
    document.fields.merge(edit.fields) { $1 }
    if kind == .tags { changeMembers(of: id, edit) }
    if document != documents(kind)[id] {
      document.revision = nextRevision()
      shelves[kind]?.documents[id] = document
    }
    return Self.reply(200, document)
  }

  /// Adds a tag to tasks, and removes the tag from others.
  private mutating func changeMembers(of tag: Int64, _ edit: TodoEdit) {
    for id in edit.added + edit.removed {
      guard case .keys(let tags)? = documents(.tasks)[id]?.fields["tags"] else { continue }
      let members = edit.added.contains(id) ? Set(tags).union([tag]) : Set(tags).subtracting([tag])
      _ = update(.tasks, id, TodoEdit(fields: ["tags": .keys(members.sorted())]))
    }
  }

  /// Deletes a document; with a list its tasks, and with a tag the members of its tasks.
  mutating func delete(_ kind: TodoKind, _ id: Int64) -> TodoReply {
    guard shelves[kind]?.documents.removeValue(forKey: id) != nil else { return TodoReply(status: 410) }
    let revision = nextRevision()
    shelves[kind]?.deleted[id] = revision
    for task in documents(.tasks).values {
      if kind == .lists, task.fields["list"] == .int(id) { _ = delete(.tasks, task.id) }
    }
    if kind == .tags { changeMembers(of: id, TodoEdit(removed: Array(documents(.tasks).keys))) }
    return TodoReply(status: 204)
  }

  // MARK: Pages

  private func page(_ kind: TodoKind, since cursor: Int64) -> TodoPage {
    let shelf = shelves[kind] ?? Shelf()
    let isComplete = cursor > 0 && cursor < horizon
    let start = isComplete ? 0 : cursor
    let changed = shelf.documents.values.filter { $0.revision > start }.sorted { $0.revision < $1.revision }
    let records = isComplete ? changed : Array(changed.prefix(pageSize))
    let hasMore = records.count < changed.count
    let end = hasMore ? records.last?.revision ?? revision : revision
    let deleted = shelf.deleted.filter { $0.value > start && $0.value <= end }.keys.sorted()
    return TodoPage(
      records: records, deleted: isComplete ? [] : deleted, cursor: String(end), hasMore: hasMore,
      isComplete: isComplete)
  }
}
