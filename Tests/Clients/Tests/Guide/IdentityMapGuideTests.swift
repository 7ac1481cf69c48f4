import CoherenceIdentityMap
import Foundation
import Synchronization
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

struct Tag: Identifiable, Codable, Equatable {
  let id: Int
  var name: String
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

  @Test func `a query follows the entities that satisfy its condition`() {
    let store = EntityStore(delivery: .immediate)
    let kept = store.store(entities: [
      Post(id: 1, text: "Hello, world", author: ada), Post(id: 2, text: "Again", author: ada),
    ])
    let screen = Screen()
    let show = screen.show
    let greetings = store.query(Post.self, where: { $0.text.hasPrefix("Hello") }, sortedBy: \.text)
    let subscription = greetings.observe { posts in show(posts.map(\.text)) }
    store.update(Post.self, id: 2) { $0.text = "Hello" }
    #expect(screen.lists == [["Hello, world"], ["Hello", "Hello, world"]])
    subscription.unsubscribe()
    withExtendedLifetime(kept) {}
  }

  @Test func `an identifier is followed before and after its entity`() {
    let store = EntityStore(delivery: .immediate)
    let screen = Screen()
    let show = screen.show
    let author = store.await(Author.self, id: 9)
    let subscription = author.observe { author in show([author?.name ?? "unknown"]) }
    store.store(Author(id: 9, name: "Grace"))
    store.remove(Author.self, id: 9)
    #expect(screen.lists == [["unknown"], ["Grace"], ["unknown"]])
    subscription.unsubscribe()
  }

  @Test func `a stale entity is fetched again`() async throws {
    let store = EntityStore(delivery: .immediate)
    let fetchAuthor: @Sendable (Int) async throws -> Author = { Author(id: $0, name: "Grace") }
    let author = store.await(Author.self, id: 9)
    store.setPolicy(for: Author.self) { $0.staleAfter = .seconds(60) }
    if store.isStale(Author.self, id: 9) { store.store(try await fetchAuthor(9)) }
    #expect(author.current?.name == "Grace")
    #expect(!store.isStale(Author.self, id: 9))
    store.invalidate(Author.self, id: 9)
    #expect(store.isStale(Author.self, id: 9))
  }

  @Test func `an archive restores entities in another store`() throws {
    let (store, nextStore) = (EntityStore(delivery: .immediate), EntityStore(delivery: .immediate))
    let kept = store.store(entities: [Tag(id: 1, name: "jazz"), Tag(id: 2, name: "soul")])
    var archive = EntityArchive()
    try archive.add(Tag.self, as: "tag", from: store)
    let data = try JSONEncoder().encode(archive)
    let restored = try JSONDecoder().decode(EntityArchive.self, from: data).restore(Tag.self, as: "tag", to: nextStore)
    #expect(restored.current.sorted { $0.id < $1.id } == kept.current)
    #expect(nextStore.value(Tag.self, id: 2)?.name == "soul")
  }

  @Test func `the value of an observer is that of its beginning`() {
    let store = EntityStore(delivery: .immediate)
    let author = store.store(entity: ada)
    store.update(Author.self, id: 7) { $0.name = "Ada Lovelace" }
    #expect(author.value.name == "Ada")
    #expect(author.current.name == "Ada Lovelace")
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

/// Keeps the lists that it is to show.
private final class Screen: Sendable {
  private let shown = Mutex<[[String]]>([])
  var lists: [[String]] { shown.withLock { $0 } }

  @Sendable func show(_ list: [String]) { shown.withLock { $0.append(list) } }
}
