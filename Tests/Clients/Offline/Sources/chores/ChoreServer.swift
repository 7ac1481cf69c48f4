import Foundation

/// Plays the server with a file: the file has the chores, and the answers by idempotency key. Without the file, the
/// server is down.
actor ChoreServer {
  private struct Contents: Codable {
    var chores: [ChoreRecord]
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
    let answer = Self.apply(edit, to: &contents.chores)
    contents.answers[key.uuidString] = answer
    // One write saves the change together with its answer.
    try JSONEncoder().encode(contents).write(to: file, options: .atomic)
    // With `CRASH` set, the program dies here: the server has the edit, and the outbox gets no answer.
    if ProcessInfo.processInfo.environment["CRASH"] != nil { kill(getpid(), SIGKILL) }
    return answer
  }

  private static func apply(_ edit: ChoreEdit, to chores: inout [ChoreRecord]) -> ChoreAnswer {
    let index = chores.firstIndex { $0.id == edit.id }
    switch (edit.kind, index) {
    case (.insert, nil):
      let chore = ChoreRecord(id: edit.id, title: edit.values.title ?? "", room: edit.values.room ?? "")
      chores.append(chore)
      return .applied(chore)
    case (.insert, let index?): return .conflict(chores[index])
    case (.update, let index?):
      guard fits(chores[index].title, edit.base.title, edit.values.title),
        fits(chores[index].room, edit.base.room, edit.values.room)
      else { return .conflict(chores[index]) }
      chores[index].title = edit.values.title ?? chores[index].title
      chores[index].room = edit.values.room ?? chores[index].room
      chores[index].revision += 1
      return .applied(chores[index])
    case (.delete, let index?):
      chores.remove(at: index)
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
