import CoherenceIdentityMap
import Testing

/// Values in which entities lie in unusual ways.
@Suite("Unusual values")
struct NestingMixtureTests {
  private let store = makeStore()

  private struct Tagged: Aggregate, Equatable {
    let id: Int
    var tags: Set<Item>
    var leaf: Leaf
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.tags), .init(\.leaf)] }
  }

  @Test func `two versions of one entity in a set leave the entities after the set at their places`() {
    let held = store.store(
      entity: Tagged(id: 1, tags: [Item(id: 2, key: "a"), Item(id: 2, key: "b"), Item(id: 3)], leaf: Leaf(4)))
    #expect(held.current.tags.count == 2 && held.current.leaf == Leaf(4))
    for round in 0..<3 {
      store.update(Item.self, id: 2) { $0.key = "\(round)" }
      store.update(Leaf.self, id: 4) { $0.text = "\(round)" }
      #expect(held.current.tags == [Item(id: 2, key: "\(round)"), Item(id: 3)])
      #expect(held.current.leaf == Leaf(4, "\(round)"))
    }
    store.remove(Item.self, id: 2)
    store.update(Leaf.self, id: 4) { $0.text = "end" }
    #expect(held.current == Tagged(id: 1, tags: [Item(id: 3)], leaf: Leaf(4, "end")))
  }

  private struct Shelf: Aggregate, Equatable {
    let id: Int
    var items: [String: Item]
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.items)] }
  }

  @Test(arguments: 0..<50)
  func `entities in a dictionary stay at their keys when one of them is removed`(round: Int) {
    let items = Dictionary(uniqueKeysWithValues: (0..<24).map { ("\($0)", Item(id: $0)) })
    let held = store.store(entity: Shelf(id: 1, items: items))
    for removed in 0..<12 { store.remove(Item.self, id: removed) }
    for id in 12..<24 { store.update(Item.self, id: id) { $0.key = "\(id)" } }
    for (key, item) in held.current.items { #expect("\(item.id)" == key && item.key == key) }
    #expect(held.current.items.count == 12)
  }

  /// A wrapper whose setter violates its contract: the written entity is lost.
  private struct Careless: EntityWrapper, Equatable, Sendable {
    var stored: Item?
    var item: Item? {
      get { stored }
      set { stored = nil }
    }

    func wrappedEntitiesKeyPaths<Root>(
      relativeTo parent: WritableKeyPath<Root, Self>
    ) -> [PartialIdentifiableKeyPath<Root>] {
      [.init(parent.appending(\.item))]
    }
  }

  private struct Box: Aggregate, Equatable {
    let id: Int
    var careless: Careless
    var leaf: Leaf
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(wrapper: \.careless), .init(\.leaf)] }
  }

  @Test func `a wrapper whose setter drops the entity leaves entities of other types at their places`() {
    let held = store.store(entity: Box(id: 1, careless: Careless(stored: Item(id: 2)), leaf: Leaf(3)))
    for round in 0..<3 {
      store.update(Item.self, id: 2) { $0.key = "\(round)" }
      store.update(Leaf.self, id: 3) { $0.text = "\(round)" }
      #expect(held.current.leaf.id == 3)
    }
  }

  /// An aggregate whose setter violates its contract: with the removal of an entity, it adds entities of another key
  /// path.
  private struct Squad: Aggregate, Equatable {
    let id: Int
    var first: Leaf?
    var bench: [Leaf] = []
    var coach: Leaf
    var captain: Leaf? {
      get { first }
      set {
        first = newValue
        if newValue == nil { bench = [Leaf(7), Leaf(8)] }
      }
    }
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      [.init(\.captain), .init(\.bench), .init(\.coach)]
    }
  }

  @Test func `a setter that adds entities of another key path during a removal leaves the last entity at its place`() {
    let held = store.store(entity: Squad(id: 1, first: Leaf(2), coach: Leaf(3)))
    #expect(store.remove(Leaf.self, id: 2))
    #expect(held.current.captain == nil && held.current.coach == Leaf(3))
    store.update(Leaf.self, id: 3) { $0.text = "new" }
    #expect(held.current.coach == Leaf(3, "new"))
  }

  /// The same with a set, and with the removed entity behind the set.
  private struct Crew: Aggregate, Equatable {
    let id: Int
    var first: Leaf?
    var tags: Set<Item>
    var deputy: Leaf?
    var captain: Leaf? {
      get { first }
      set {
        first = newValue
        if newValue == nil { tags.insert(Item(id: 5)) }
      }
    }
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      [.init(\.captain), .init(\.tags), .init(\.deputy)]
    }
  }

  @Test func `a setter that adds a member to a set during a removal leaves the other members in the set`() {
    let held = store.store(entity: Crew(id: 1, first: Leaf(2), tags: [Item(id: 2), Item(id: 4)], deputy: Leaf(2)))
    #expect(store.remove(Leaf.self, id: 2) && store.find(Leaf.self, id: 2) == nil)
    #expect(held.current.tags.isSuperset(of: [Item(id: 2), Item(id: 4)]))
  }

  /// The same with the removed entity itself. Without an equality, so that every value counts as another one.
  private struct Duo: Aggregate {
    let id: Int
    var first: Leaf?
    var bench: [Leaf] = []
    var captain: Leaf? {
      get { first }
      set {
        if newValue == nil, let first { bench.append(first) }
        first = newValue
      }
    }
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.captain), .init(\.bench)] }
  }

  @Test func `the tentative removal of an entity ends when a setter puts the entity into another key path`() {
    let held = store.store(entity: Duo(id: 1, first: Leaf(2)))
    let removal = store.optimistically { $0.remove(Leaf.self, id: 2) }
    #expect(store.find(Leaf.self, id: 2) == nil && held.current.captain == nil)
    removal.rollback()
    #expect(held.current.captain == Leaf(2) && held.current.bench.isEmpty && store.find(Leaf.self, id: 2) != nil)
  }

  @Test func `a page stored under an alias is merged once`() {
    store.setPolicy(for: Person.self) { $0.merge = { Person($1.id, $1.name, $0.friends + $1.friends) } }
    let alias = AliasKey<Person>("me")
    let held = store.store(entity: Person(1, "p", [Person(2, "a")]))
    _ = store.store(entity: Person(1, "p", [Person(3, "b")]), named: alias)
    #expect(held.current.friends.map(\.id) == [2, 3] && store.find(named: alias).value?.friends.count == 2)
    _ = store.store(entities: [Person(1, "p", [Person(4, "c")])], named: AliasKey("all"))
    #expect(held.current.friends.map(\.id) == [2, 3, 4])
  }

  @Test func `an aggregate shows the merged value of an entity that is stored with it`() {
    store.setPolicy(for: Note.self) {
      $0.merge = { Note(id: $0.id, fields: $0.fields.merging($1.fields) { $1 }) }
    }
    let note = store.store(entity: Note(id: 1, fields: ["a": "1"]))
    let root = store.store(entity: Root(id: 2, leaf: Leaf(3), note: Note(id: 1, fields: ["b": "2"])))
    #expect(note.current.fields == ["a": "1", "b": "2"] && root.current.note == note.current)
    // The merge leaves the stored value as it is.
    let other = store.store(entity: Root(id: 4, leaf: Leaf(3), note: Note(id: 1)))
    #expect(other.current.note == note.current && other.current.note?.fields.count == 2)
  }

  @Test func `the merge of an entity at several places of an aggregate that an update adds is no conflict`() {
    let log = Log()
    let store = makeStore(logger: log)
    store.setPolicy(for: Leaf.self) { $0.merge = { stored, _ in stored } }
    let key = AliasKey<[Document]>("documents")
    _ = store.store(entities: [Document(id: 1, author: Leaf(2, "a"), editor: Leaf(2, "a"))], named: key)
    store.update(named: key) { $0.append(Document(id: 3, author: Leaf(2, "b"), editor: Leaf(2, "b"))) }
    let leaves = store.find(named: key).value?.flatMap { [$0.author, $0.editor] } ?? []
    #expect(leaves == Array(repeating: Leaf(2, "a"), count: 4))
    #expect(!log.lines.contains { $0.hasPrefix("rejected") })
  }

  /// Two, never more and never less.
  private struct Pair: MutableCollection, Equatable, Sendable {
    var first: Leaf
    var second: Leaf
    var startIndex: Int { 0 }
    var endIndex: Int { 2 }
    func index(after index: Int) -> Int { index + 1 }
    subscript(index: Int) -> Leaf {
      get { index == 0 ? first : second }
      set { if index == 0 { first = newValue } else { second = newValue } }
    }
  }

  private struct Pairs: Aggregate, Equatable {
    let id: Int
    var pairs: [Pair]
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(lists: \.pairs)] }
  }

  @Test func `removing an entity removes its required aggregate from a list and leaves the list`() {
    let (first, second) = (Pair(first: Leaf(1), second: Leaf(2)), Pair(first: Leaf(3), second: Leaf(4)))
    let held = store.store(entity: Pairs(id: 1, pairs: [first, second]))
    store.remove(Leaf.self, id: 2)
    #expect(held.current.pairs == [second])
    store.update(Leaf.self, id: 4) { $0.text = "new" }
    #expect(held.current.pairs == [Pair(first: Leaf(3), second: Leaf(4, "new"))])
  }

  /// An entity that is a collection of entities too.
  private struct Duet: MutableCollection, Identifiable, Equatable, Sendable {
    let id: Int
    var pair: Pair
    var startIndex: Int { 0 }
    var endIndex: Int { 2 }
    func index(after index: Int) -> Int { index + 1 }
    subscript(index: Int) -> Leaf {
      get { pair[index] }
      set { pair[index] = newValue }
    }
  }

  private struct Concert: Aggregate, Equatable {
    let id: Int
    var duets: [Duet]
    var hasLists: Bool
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
      hasLists ? [.init(lists: \.duets)] : [.init(\.duets)]
    }
  }

  @Test(arguments: [false, true])
  func `a value may have the elements of a list as entities, and another value as lists of entities`(
    isListFirst: Bool
  ) {
    func duets(_ text: String?) -> [Duet] { [Duet(id: 1, pair: Pair(first: Leaf(1, text), second: Leaf(2)))] }
    let held = [isListFirst, !isListFirst].map { hasLists in
      store.store(entity: Concert(id: hasLists ? 1 : 2, duets: duets(nil), hasLists: hasLists))
    }
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    for handle in held {
      #expect(handle.current.duets == duets(handle.current.hasLists ? "new" : nil))
    }
    store.update(Duet.self, id: 1) { $0.pair.first = Leaf(3) }
    for handle in held {
      let first = handle.current.hasLists ? Leaf(1, "new") : Leaf(3)
      #expect(handle.current.duets == [Duet(id: 1, pair: Pair(first: first, second: Leaf(2)))])
    }
  }

  @Test func `a merge closure may remove the entity`() {
    let store = store
    let held = store.store(entity: Note(id: 1))
    store.setPolicy(for: Note.self) { policy in
      policy.merge = { _, incoming in
        store.remove(Note.self, id: 1)
        return incoming
      }
    }
    _ = store.store(entity: Note(id: 1, fields: ["a": "1"]))
    #expect(store.find(Note.self, id: 1)?.value.fields == ["a": "1"] && held.current.fields == ["a": "1"])
    store.setPolicy(for: Note.self) { $0.merge = nil }
  }
}
