import CoherenceIdentityMap
import Testing

/// Aggregates of as many levels, parents and entities as the store processes in another way: just below, at and just
/// above each number.
@Suite("Heights of aggregates")
struct NestingHeightTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  @Test(arguments: [31, 32, 33, 34, 63, 64, 65, 66, 67])
  func `a value of any height is compared, changed, rolled back and removed alike`(count: Int) {
    let held = store.store(entity: Level(count: count))
    let (received, subscription) = held.changes()
    store.store(Level(count: count))
    store.store(Level(count: count, text: "new"))
    store.update(Level.self, id: count - 1) { $0.text = "newer" }
    store.update(Level.self, id: 0) { $0 = Level(count: count, text: "newest") }
    try? store.transaction { store in
      store.store(Level(count: count, text: "undone"))
      throw Refusal()
    }
    #expect(received.values.map(\.last.text) == ["new", "newer", "newest"])
    #expect(held.current == Level(count: count, text: "newest"))
    let change = store.optimistically { $0.update(Level.self, id: count - 1) { $0.text = "shown" } }
    #expect(held.current.last.text == "shown")
    change.rollback()
    #expect(held.current.last.text == "newest")
    store.remove(Level.self, id: count - 1)
    #expect(held.current.last.id == count - 2 && store.count(of: Level.self) == count - 1)
    withExtendedLifetime((held, subscription)) {}
  }

  @Test(arguments: [1, 2, 3, 31, 32, 62, 63, 64, 65, 66])
  func `storing an aggregate again inserts a removed entity whose last value is any number of levels below`(
    count: Int
  ) {
    let author = Leaf(2, "Ann")
    let held = store.store(entity: Level(count: count, article: Article(id: 1, author: author)))
    store.remove(Leaf.self, id: 2)
    #expect(store.find(Leaf.self, id: 2) == nil && held.current.last.article?.author == author)
    store.store(held.current)
    #expect(store.find(Leaf.self, id: 2)?.value == author)
    store.update(Leaf.self, id: 2) { $0.text = "Anna" }
    #expect(held.current.last.article?.author.text == "Anna")
    withExtendedLifetime(held) {}
  }

  @Test(arguments: [63, 64, 65, 66])
  func `storing an aggregate of any height inserts the removed entity whose last value it keeps itself`(count: Int) {
    let author = Leaf(2, "Ann")
    let held = store.store(entity: Report(id: 1, author: author, level: Level(count: count)))
    store.remove(Leaf.self, id: 2)
    #expect(store.find(Leaf.self, id: 2) == nil && held.current.author == author)
    store.store(held.current)
    #expect(store.find(Leaf.self, id: 2)?.value == author)
    withExtendedLifetime(held) {}
  }

  @Test(arguments: [63, 64, 65, 66])
  func `an equal value with other fields reaches any number of aggregates`(count: Int) {
    func texts(_ text: String) -> [String] { Array(repeating: text, count: count) }
    let cards = store.store(entities: (0..<count).map { Card(id: $0, label: Label(id: 1, text: "old")) })
    store.store(Label(id: 1, text: "new"))
    #expect(cards.current.map(\.label.text) == texts("new"))
    store.store(Label(id: 1, text: "new"))
    store.update(Label.self, id: 1) { $0.text = "newer" }
    #expect(cards.current.map(\.label.text) == texts("newer"))
    withExtendedLifetime(cards) {}
  }

  @Test(arguments: [0, 16, 32], [15, 16, 17, 18, 19])
  func `a sorted query takes any number of entities of one transaction in its order`(former: Int, count: Int) {
    func item(_ id: Int, _ step: Int) -> Item { Item(id: id, key: "\((id * step) % 10)") }
    let items = store.store(entities: (0..<former).map { item($0, 3) })
    let query = store.query(Item.self, sort: { ($0.key, $0.id) < ($1.key, $1.id) })
    let (received, subscription) = query.changes()
    // A third of the former items gets another key in the same transaction.
    let ids = Array(stride(from: 0, to: former, by: 3).prefix(count / 3))
    let new = (former..<(former + count - ids.count)).map { item($0, 7) }
    let added = store.transaction { store in
      for id in ids { store.store(item(id, 7)) }
      return store.store(entities: new)
    }
    let expected: [Item] = (0..<former).map { ids.contains($0) ? item($0, 7) : item($0, 3) } + new
    #expect(query.current == expected.sorted { ($0.key, $0.id) < ($1.key, $1.id) })
    #expect(received.count == 1 && received.values.last == query.current)
    withExtendedLifetime((items, added, query, subscription)) {}
  }
}

// MARK: - Entities

/// A level of a value, with the next level in it.
private struct Level: Aggregate, Equatable {
  let id: Int
  var text = ""
  var article: Article?
  var levels: [Level] = []

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.article), .init(\.levels)] }

  var last: Level {
    var last = self
    while let next = last.levels.first { last = next }
    return last
  }
}

extension Level {
  /// Levels numbered from 0.
  /// - Parameters:
  ///   - text: That of the last.
  ///   - article: That of the last.
  init(count: Int, text: String = "", article: Article? = nil) {
    self.init(id: count - 1, text: text, article: article)
    for id in (0..<count - 1).reversed() { self = Level(id: id, levels: [self]) }
  }
}

/// An aggregate that keeps the last value of an entity beside its levels.
private struct Report: Aggregate, Equatable {
  let id: Int
  var author: Leaf
  var level: Level

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.author).onRemoval(.keepLastValue), .init(\.level)]
  }
}

/// An entity with a text outside of its equality.
private struct Label: Identifiable, Equatable, Sendable {
  let id: Int
  var text: String

  static func == (first: Label, second: Label) -> Bool { first.id == second.id }
}

private struct Card: Aggregate, Equatable {
  let id: Int
  var label: Label

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.label)] }
}
