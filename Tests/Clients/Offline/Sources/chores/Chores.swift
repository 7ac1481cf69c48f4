import CoherenceOutbox
import Foundation

@main struct Chores {
  static func main() async throws {
    let server = ChoreServer(file: URL(fileURLWithPath: "server.json"))
    let book = try await ChoreBook(server: server)
    let words = Array(CommandLine.arguments.dropFirst())
    switch words.first {
    case "add" where words.count == 2: try await book.add(words[1])
    case "rename" where words.count == 3: try await book.rename(words[1], to: words[2])
    case "delete" where words.count == 2: try await book.delete(words[1])
    case "keep" where words == ["keep", "mine"]: try await book.resolve(keeping: .local)
    case "keep" where words == ["keep", "theirs"]: try await book.resolve(keeping: .server)
    case "keep" where words.count == 2: try await book.resolve(keeping: .values(["title": words[1]]))
    case "sync": await sync(book)
    case nil: break
    default: print("use: chores [add <title> | rename <old> <new> | delete <title> | sync | keep <mine|theirs|title>]")
    }
    for line in try await book.lines() { print(line) }
    try await book.close()
  }

  private static func sync(_ book: ChoreBook) async {
    do {
      try await book.sync()
    } catch {
      print("The server cannot be reached. The edits wait.")
    }
  }
}
