import CoherenceIdentityMap

extension Feed {
  /// A message of a socket: all posts of an author, with the author's new name.
  private struct Message: Sendable {
    let version: Int
    let posts: [Post]
  }

  /// Eight sockets deliver the same messages at once, each in an order of its own, while four observers look.
  static func pushAtOnce() async {
    let store = EntityStore()
    let messages = (0...200).map { message(version: $0) }
    // The last message of each author counts.
    let final = messages.suffix(authors).flatMap(\.posts).sorted { $0.id < $1.id }
    let first = messages.prefix(authors).flatMap(\.posts).sorted { $0.id < $1.id }
    _ = store.store(entities: first, named: .feed)

    let observers = (0..<4).map { _ in Task { await inconsistencies(in: store, until: final) } }
    await withTaskGroup(of: Void.self) { sockets in
      for _ in 0..<8 {
        sockets.addTask {
          for message in messages.shuffled() {
            _ = store.store(entities: message.posts, modifiedAt: Double(message.version))
          }
        }
      }
    }
    let isFinal = store.find(named: .feed).value == final
    // Ends observers that would wait for further events.
    if !isFinal { store.clear() }
    var inconsistent = 0
    for observer in observers { inconsistent += await observer.value }
    print("8 sockets, \(messages.count) messages each: \(inconsistent) inconsistent snapshots")
    print("the end is the server's: \(isFinal)")
  }

  private static let authors = 4

  private static func message(version: Int) -> Message {
    let id = version % authors
    let author = User(id: id, name: "user \(id), \(version)", revision: version)
    let posts = (0..<5).map { Post(id: id * 5 + $0, text: "\(version)", revision: version, author: author) }
    return Message(version: version, posts: posts)
  }

  /// Counts the snapshots in which a post and its author are not of one message.
  private static func inconsistencies(in store: EntityStore, until final: [Post]) async -> Int {
    var count = 0
    for await snapshot in store.find(named: .feed).values {
      guard let posts = snapshot else { continue }
      let revisions = Dictionary(grouping: posts, by: \.author.id).mapValues { Set($0.map(\.revision)) }
      let isConsistent =
        posts.allSatisfy { $0.revision == $0.author.revision } && revisions.values.allSatisfy { $0.count == 1 }
      if !isConsistent { count += 1 }
      if posts == final { break }
    }
    return count
  }
}
