import Foundation

/// Plays the server with a file: the file has the chores, and the answers by idempotency key. Without the file, the
/// server is down.
actor ChoreServer {
  private struct Contents: Codable {
    var chores: [ChoreRecord]
    /// The last revisions of deleted chores by identifier.
    var deleted: [String: Int]
    var answers: [String: ChoreAnswer]
  }

  private let file: URL

  init(file: URL) { self.file = file }

  /// All chores.
  func chores() throws -> [ChoreRecord] { try read().chores }

  /// Applies or refuses an edit. A repeated edit changes nothing, and gets the answer to the first request.
  func receive(_ edit: ChoreEdit, key: UUID) throws -> ChoreAnswer {
    var contents = try read()
    if let known = contents.answers[key.uuidString] {
      print("server: an edit arrived again")
      return known
    }
    let answer = Self.apply(edit, to: &contents)
    contents.answers[key.uuidString] = answer
    // One write saves the change together with its answer.
    try JSONEncoder().encode(contents).write(to: file, options: .atomic)
    // With `CRASH` set, the program dies here: the server has the edit, and the outbox gets no answer.
    if ProcessInfo.processInfo.environment["CRASH"] != nil { kill(getpid(), SIGKILL) }
    return answer
  }

  private static func apply(_ edit: ChoreEdit, to contents: inout Contents) -> ChoreAnswer {
    let index = contents.chores.firstIndex { $0.id == edit.id }
    switch (edit.kind, index) {
    case (.insert, nil):
      // The count goes on after a deletion, so that a page from before the deletion is older than the chore.
      let chore = ChoreRecord(
        id: edit.id, title: edit.values.title ?? "", room: edit.values.room ?? "",
        revision: (contents.deleted[edit.id.uuidString] ?? 0) + 1)
      contents.chores.append(chore)
      return .applied(chore)
    case (.insert, let index?): return .conflict(contents.chores[index])
    case (.update, let index?):
      var chore = contents.chores[index]
      guard fits(chore.title, edit.base.title, edit.values.title), fits(chore.room, edit.base.room, edit.values.room)
      else { return .conflict(chore) }
      chore.title = edit.values.title ?? chore.title
      chore.room = edit.values.room ?? chore.room
      chore.revision += 1
      contents.chores[index] = chore
      return .applied(chore)
    case (.delete, let index?):
      let chore = contents.chores.remove(at: index)
      contents.deleted[edit.id.uuidString] = chore.revision
      return .deleted
    case (.update, nil), (.delete, nil): return .unknown
    }
  }

  /// Whether the edit leaves a field alone, or no other client has changed the field to another value.
  private static func fits(_ present: String, _ base: String?, _ new: String?) -> Bool {
    new == nil || present == base || present == new
  }

  private func read() throws -> Contents { try JSONDecoder().decode(Contents.self, from: Data(contentsOf: file)) }
}
