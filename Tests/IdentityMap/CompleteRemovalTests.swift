import CoherenceIdentityMap
import Synchronization
import Testing

/// The removal of all entities of a type, from the values that contain many of them.
@Suite("The removal of all entities of a type")
struct CompleteRemovalTests {
  private struct Refusal: Error {}

  /// An aggregate that counts the reads of its key paths. Each walk over a feed reads them.
  private struct Feed: Aggregate, Equatable {
    static let readCount = Mutex(0)

    let id: Int
    var items: [Item]
    var pinned: Leaf?

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      Self.readCount.withLock { $0 += 1 }
      return [.init(\.items), .init(\.pinned)]
    }
  }

  /// An aggregate that refuses no removal.
  private struct Shelf: Aggregate, Equatable {
    let id: Int
    var items: [Item]
    var pinned: Leaf?

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.items), .init(\.pinned)] }
  }

  /// As a feed, for the optimistic removals.
  private struct Queue: Aggregate, Equatable {
    static let readCount = Mutex(0)

    let id: Int
    var items: [Item]

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      Self.readCount.withLock { $0 += 1 }
      return [.init(\.items)]
    }
  }

  /// As a feed, for the removals by the closure of an update.
  private struct Inbox: Aggregate, Equatable {
    static let readCount = Mutex(0)

    let id: Int
    var items: [Item]

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      Self.readCount.withLock { $0 += 1 }
      return [.init(\.items)]
    }
  }

  /// As a feed, for aggregates that are removed with an entity that they require.
  private struct Wall: Aggregate, Equatable {
    static let readCount = Mutex(0)

    let id: Int
    var notes: [Note]

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      Self.readCount.withLock { $0 += 1 }
      return [.init(\.notes)]
    }
  }

  private struct Note: Aggregate, Equatable {
    let id: Int
    var author: Leaf

    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.author)] }
  }

  /// A list that counts how often a list is made of elements.
  private struct Roll: RangeReplaceableCollection, Sendable {
    static let madeCount = Mutex(0)

    private var leaves: [Leaf] = []

    init() {}

    init<S: Sequence>(_ elements: S) where S.Element == Leaf {
      leaves = Array(elements)
      Self.madeCount.withLock { $0 += 1 }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { leaves.count }
    subscript(index: Int) -> Leaf { leaves[index] }
    func index(after index: Int) -> Int { index + 1 }

    mutating func replaceSubrange<C: Collection>(_ range: Range<Int>, with elements: C) where C.Element == Leaf {
      leaves.replaceSubrange(range, with: elements)
    }
  }

  private let store = makeStore()

  /// Removes all items of a queue optimistically, one by one, and returns the number of reads of the queue's key paths.
  private func readCount(forOptimisticRemovalOf count: Int) -> Int {
    let items = (0..<count).map { Item(id: $0) }
    let queue = store.store(entity: Queue(id: count, items: items))
    let before = Queue.readCount.withLock { $0 }
    let change = store.optimistically { draft in
      for item in items { draft.remove(Item.self, id: item.id) }
    }
    let after = Queue.readCount.withLock { $0 }
    #expect(queue.current.items.isEmpty)
    change.rollback()
    #expect(queue.current.items == items)
    return after - before
  }

  @Test func `the number of walks for an optimistic removal does not grow with the number of earlier removals`() {
    let few = readCount(forOptimisticRemovalOf: 10)
    let many = readCount(forOptimisticRemovalOf: 200)
    #expect(many <= 20 * few, "\(few) \(many)")
  }

  @Test func `a read of an alias excludes all tentatively removed entities with one walk`() {
    let key = AliasKey<Roll>("roll")
    _ = store.store(entities: Roll((0..<100).map { Leaf($0) }), named: key)
    let change = store.optimistically { draft in
      for id in 0..<50 { draft.remove(Leaf.self, id: id) }
    }
    let before = Roll.madeCount.withLock { $0 }
    #expect(store.value(named: key)?.map(\.id) == Array(50..<100))
    let after = Roll.madeCount.withLock { $0 }
    #expect(after - before <= 2, "A rebuild and a walk make a list each.")
    withExtendedLifetime(change) {}
  }

  /// Removes all items of a feed, and returns the number of reads of the feed's key paths.
  private func readCount(forRemovalOf count: Int) -> Int {
    let feed = store.store(entity: Feed(id: count, items: (0..<count).map { Item(id: $0) }, pinned: Leaf(1)))
    let before = Feed.readCount.withLock { $0 }
    store.removeAll(Item.self)
    let after = Feed.readCount.withLock { $0 }
    #expect(feed.current == Feed(id: count, items: [], pinned: Leaf(1)))
    return after - before
  }

  @Test func `the number of walks over an aggregate does not grow with the number of its removed entities`() {
    let few = readCount(forRemovalOf: 10)
    let many = readCount(forRemovalOf: 1_000)
    #expect(many == few, "\(few) \(many)")
  }

  /// Removes the author of all notes of a wall, and returns the number of reads of the wall's key paths.
  private func readCount(forRemovalOfAuthorOf count: Int) -> Int {
    let notes = (0..<count).map { Note(id: $0, author: Leaf(1)) }
    let wall = store.store(entity: Wall(id: count, notes: notes + [Note(id: count, author: Leaf(2))]))
    let list = store.store(entities: notes)
    let (received, subscription) = list.changes()
    let before = Wall.readCount.withLock { $0 }
    store.remove(Leaf.self, id: 1)
    let after = Wall.readCount.withLock { $0 }
    #expect(wall.current.notes.map(\.id) == [count] && list.current.isEmpty && received.count == 1)
    withExtendedLifetime(subscription) {}
    return after - before
  }

  @Test func `the number of walks over an aggregate does not grow with the aggregates that leave it with one entity`() {
    let few = readCount(forRemovalOfAuthorOf: 10)
    let many = readCount(forRemovalOfAuthorOf: 1_000)
    #expect(many == few, "\(few) \(many)")
  }

  /// Removes all items of an inbox in a closure that updates the inbox, and returns the number of reads of the inbox's
  /// key paths.
  private func readCount(forUpdateThatRemoves count: Int) -> Int {
    let store = store
    let inbox = store.store(entity: Inbox(id: count, items: (0..<count).map { Item(id: $0) }))
    let before = Inbox.readCount.withLock { $0 }
    store.update(Inbox.self, id: count) { _ in store.removeAll(Item.self) }
    let after = Inbox.readCount.withLock { $0 }
    #expect(inbox.current.items.isEmpty)
    return after - before
  }

  @Test func `the number of walks for an update whose closure removes entities does not grow with their number`() {
    let few = readCount(forUpdateThatRemoves: 10)
    let many = readCount(forUpdateThatRemoves: 1_000)
    #expect(many <= 2 * few, "\(few) \(many)")
  }

  @Test func `lists lose all entities of a type, and aggregates that require one of them are removed`() {
    let leaves = (0..<50).map { Leaf($0, "leaf") }
    let root = store.store(entity: Root(id: 1, leaf: leaves[0], items: (0..<50).map { Item(id: $0) }))
    let document = store.store(entity: Document(id: 1, author: Leaf(100), editor: Leaf(101), readers: leaves))
    let list = store.store(entities: leaves, named: .all)
    let (received, subscription) = list.changes()
    store.removeAll(Item.self)
    #expect(root.current.items.isEmpty)
    store.removeAll(Leaf.self)
    #expect(store.find(Root.self, id: 1) == nil && store.find(Document.self, id: 1) == nil)
    #expect(store.find(named: AliasKey<[Leaf]>.all).current?.isEmpty == true)
    #expect(list.current.isEmpty && received.values.last?.isEmpty == true)
    withExtendedLifetime((root, document, subscription)) {}
  }

  @Test func `the rollback of a removal of all entities restores every value with them`() {
    let leaves = (0..<50).map { Leaf($0, "leaf") }
    let value = Root(id: 1, leaf: Leaf(100), items: (0..<50).map { Item(id: $0) })
    let root = store.store(entity: value)
    let list = store.store(entities: leaves, named: .all)
    try? store.transaction { store in
      store.removeAll(Item.self)
      store.removeAll(Leaf.self)
      throw Refusal()
    }
    #expect(root.current == value && list.current == leaves)
    #expect(store.find(named: AliasKey<[Leaf]>.all).current == leaves)
    store.update(Item.self, id: 7) { $0.key = "new" }
    #expect(root.current.items[7] == Item(id: 7, key: "new"))
  }

  // An aggregate with a wrapper may refuse the removal of an entity, and the entities are then removed one by one. The
  // next two tests store no such aggregate, so that one walk over each value removes all of its entities.

  @Test func `the rollback of a removal with one walk over each value restores every value with its entities`() {
    let leaves = (0..<50).map { Leaf($0, "leaf") }
    let value = Shelf(id: 1, items: (0..<50).map { Item(id: $0) }, pinned: leaves[7])
    let shelf = store.store(entity: value)
    let list = store.store(entities: leaves)
    let named = store.store(entities: leaves, named: .all)
    try? store.transaction { store in
      store.removeAll(Item.self)
      store.removeAll(Leaf.self)
      #expect(shelf.current == Shelf(id: 1, items: [], pinned: nil) && list.current.isEmpty && named.current.isEmpty)
      throw Refusal()
    }
    #expect(shelf.current == value && list.current == leaves && named.current == leaves)
    #expect(store.find(named: AliasKey<[Leaf]>.all).current == leaves)
    store.update(Item.self, id: 7) { $0.key = "new" }
    #expect(shelf.current.items[7] == Item(id: 7, key: "new"))
  }

  @Test func `an observer of a value receives the removal of all of its entities as one change`() {
    let leaves = (0..<50).map { Leaf($0, "leaf") }
    let shelf = store.store(entity: Shelf(id: 1, items: (0..<50).map { Item(id: $0) }, pinned: nil))
    let named = store.store(entities: leaves, named: .all)
    let (items, subscription) = shelf.changes()
    let (listed, other) = named.changes()
    store.removeAll(Item.self)
    store.removeAll(Leaf.self)
    #expect(items.values == [Shelf(id: 1, items: [], pinned: nil)] && listed.values == [[]])
    withExtendedLifetime((shelf, named, subscription, other)) {}
  }

  @Test func `an optimistic change of thousands of entities in a transaction that throws is reverted with it`() {
    let leaves = (0..<2_000).map { Leaf($0, "sure") }
    let list = store.store(entities: leaves)
    let kept = store.optimistically { draft in
      for leaf in leaves.prefix(1_000) { draft.update(Leaf.self, id: leaf.id) { $0.text? += "!" } }
    }
    let former: [String?] = leaves.map { $0.id < 1_000 ? "sure!" : "sure" }
    let changed: [String?] = leaves.map { $0.id < 1_000 ? "sure!??" : "sure??" }
    var undone: OptimisticChange?
    try? store.transaction { store in
      undone = store.optimistically { draft in
        for _ in 0..<2 {
          for leaf in leaves { draft.update(Leaf.self, id: leaf.id) { $0.text? += "?" } }
        }
      }
      #expect(list.current.map(\.text) == changed)
      throw Refusal()
    }
    #expect(list.current.map(\.text) == former)
    undone?.commit()
    #expect(list.current.map(\.text) == former)
    kept.rollback()
    #expect(list.current == leaves)
  }
}
