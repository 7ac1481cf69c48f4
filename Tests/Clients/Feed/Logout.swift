import CoherenceIdentityMap
import Synchronization

extension Feed {
  /// The authors that an observer was shown.
  private final class Seen: Sendable {
    private let names = Mutex<Set<String>>([])

    var sorted: [String] { names.withLock { $0.sorted() } }

    func note(_ posts: [Post]?) {
      names.withLock { $0.formUnion(posts?.map(\.author.name) ?? []) }
    }
  }

  /// One user logs out and the next one logs in. The posts of both have the same identifiers.
  static func changeUsers() async {
    let store = EntityStore()
    _ = store.store(entities: posts(of: "Ada"), named: .feed)
    let (old, new, sequence) = (Seen(), Seen(), Seen())
    let subscription = store.find(named: .feed).observe { old.note($0) }
    let values = store.find(named: .feed).values
    let change = store.optimistically { draft in
      draft.insert(Post(id: -1, text: "draft", author: User(id: 7, name: "Ada")), named: .feed)
    }
    store.clear()

    _ = store.store(entities: posts(of: "Grace"), named: .feed)
    // The old subscription would be notified before the new one, so that this delivery proves its silence.
    let (told, continuation) = AsyncStream<Void>.makeStream()
    let next = store.find(named: .feed).observe { posts in
      new.note(posts)
      if posts?.first?.text == "newer" { continuation.finish() }
    }
    change.rollback()
    store.update(Post.self, id: 1) { $0.text = "newer" }
    for await _ in told {}
    for await posts in values { sequence.note(posts) }
    print("the first user's observers saw \(old.sorted) and \(sequence.sorted), the next one's \(new.sorted)")
    print("the next one's feed: \(store.find(named: .feed).value?.map(\.id) ?? [])")
    withExtendedLifetime((subscription, next)) {}
  }

  private static func posts(of name: String) -> [Post] {
    (1...3).map { Post(id: $0, text: "post \($0)", author: User(id: 7, name: name)) }
  }
}
