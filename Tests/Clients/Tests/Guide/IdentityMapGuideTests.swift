import CoherenceIdentityMap
import Testing

struct Author: Identifiable, Equatable {
  let id: Int
  var name: String
}

struct Post: Aggregate, Equatable {
  let id: Int
  var text: String
  var author: Author
  var likes: [Author] = []

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.author).onRemoval(.keepLastValue), .init(\.likes)]
  }
}

extension AliasKey where T == [Post] {
  static let feed = AliasKey("feed")
}

@Suite("The articles about the identity map")
struct IdentityMapGuideTests {
  private let ada = Author(id: 7, name: "Ada")

  @Test func `an update is visible in every aggregate of the entity`() {
    let store = EntityStore(delivery: .immediate)
    let posts = store.store(entities: [
      Post(id: 1, text: "Hello", author: ada), Post(id: 2, text: "Again", author: ada),
    ])
    store.update(Author.self, id: 7) { $0.name = "Ada Lovelace" }
    let names = posts.current.map(\.author.name)  // ["Ada Lovelace", "Ada Lovelace"]
    #expect(names == ["Ada Lovelace", "Ada Lovelace"])
  }

  @Test func `observers are notified once of a transaction`() {
    let store = EntityStore(delivery: .immediate)
    let posts = store.store(entities: [Post(id: 1, text: "Hello", author: ada)])
    let counter = Counter()
    let subscription = posts.observe { _ in counter.increment() }  // called with the present value first
    store.transaction { store in
      store.update(Author.self, id: 7) { $0.name = "Ada Lovelace" }
      store.update(Post.self, id: 1) { $0.text = "Hello, world" }
    }
    #expect(counter.value == 2)
    subscription.unsubscribe()
  }

  @Test func `a feed gets its pages by an alias`() {
    let store = EntityStore(delivery: .immediate)
    store.store([Post(id: 1, text: "Hello", author: ada)], named: .feed)
    let feed = store.find(named: .feed)
    let subscription = feed.observe { posts in print(posts?.count ?? 0) }
    let page = [Post(id: 1, text: "Hello", author: ada), Post(id: 2, text: "New", author: ada)]
    store.append(entities: page, named: .feed)
    #expect(feed.current?.map(\.id) == [1, 2])
    subscription.unsubscribe()
  }

  @Test func `an optimistic change is committed or rolled back`() {
    let store = EntityStore(delivery: .immediate)
    let post = store.store(entity: Post(id: 1, text: "Hello", author: ada))
    let change = store.optimistically { draft in
      draft.update(Post.self, id: 1) { $0.text = "Sending…" }
    }
    change.commit(replacingWith: Post(id: 1, text: "Sent", author: ada))  // the server's reply
    #expect(post.current.text == "Sent")
    let other = store.optimistically { draft in
      draft.update(Post.self, id: 1) { $0.text = "Never" }
    }
    #expect(post.current.text == "Never")
    other.rollback()
    #expect(post.current.text == "Sent")
  }

  @Test func `the policy of a place decides about a removal`() {
    let store = EntityStore(delivery: .immediate)
    let post = store.store(entity: Post(id: 1, text: "Hello", author: ada, likes: [Author(id: 8, name: "Grace")]))
    store.remove(Author.self, id: 8)  // leaves the list of likes
    store.remove(Author.self, id: 7)  // the post keeps the last value of its author
    #expect(post.current.likes.isEmpty && post.current.author == ada)
  }

  @Test func `a snapshot contains all parts of one transaction`() {
    let store = EntityStore(delivery: .immediate)
    let kept = store.store(entity: Post(id: 1, text: "Hello", author: ada))
    let page = store.snapshot(of: .entity(Post.self, id: 1), .entity(Author.self, id: 7))
    let subscription = page.observe { post, author in print(post?.text ?? "", author?.name ?? "") }
    #expect(page.current.1 == ada)
    subscription.unsubscribe()
    withExtendedLifetime(kept) {}
  }

  @Test func `a type has a lifetime of its own`() {
    let store = EntityStore(delivery: .immediate)
    store.setPolicy(for: Author.self) { $0.lifetime = .last(100) }
    store.store(ada)
    let isKept = store.find(Author.self, id: 7) != nil  // true, without an observer
    #expect(isKept)
  }

  @Test func `a stamp refuses older values`() {
    let store = EntityStore(delivery: .immediate)
    let author = store.store(entity: Author(id: 7, name: "Ada Lovelace"), modifiedAt: 2)
    store.store(Author(id: 7, name: "Ada"), modifiedAt: 1)  // older, and rejected
    #expect(author.current.name == "Ada Lovelace")
  }
}

/// Counts calls on the thread of the test.
private final class Counter: @unchecked Sendable {
  // Sendable: immediate deliveries come on the thread of the test, and no other thread has the store.
  private(set) var value = 0
  func increment() { value += 1 }
}
