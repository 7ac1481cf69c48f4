import Coherence
import CoherenceHTTP
import Foundation

@main struct ShelfTool {
  static func main() async throws {
    let shelf = try await Shelf()
    let words = Array(CommandLine.arguments.dropFirst())
    switch words.first {
    case "add" where words.count >= 4:
      try await shelf.add(words[1], code: words[2], by: words[3], tracks: Array(words.dropFirst(4)))
    case "favourite" where words.count == 2:
      try shelf.markFavourite(code: words[1])
    case "sync" where words.count == 2:
      if let service = URL(string: words[1]) { try await sync(shelf, with: service) }
    case nil: break
    default: print("use: shelf [add <title> <code> <artist> <track>... | favourite <code> | sync <address>]")
    }
    for line in try shelf.lines() { print(line) }
    try await shelf.close()
  }

  /// Merges the content of the service. Without a service the shelf stays as it was.
  private static func sync(_ shelf: Shelf, with service: URL) async throws {
    let http = URLSessionClient(maximumBodySize: 10_000_000).limited(to: .seconds(30))
    do {
      let count = try await shelf.sync(with: service, by: http)
      print("\(count.inserted) inserted, \(count.updated) updated")
    } catch let error as CoherenceError where error.isRetryable {
      print("The service cannot be reached. The shelf as of the last sync:")
    }
  }
}
