import CoherenceIdentityMap
import TestRandom
import Testing

/// An update stores the changes that its closure makes in the value, and nothing else.
@Suite("Changes by an update")
struct UpdateTests {
  private let store = makeStore()
  private let log = Log()
  /// A store that logs its rejections. A logger receives every write, so that the store takes the slow paths.
  private let logged: EntityStore

  init() {
    logged = makeStore(logger: log)
  }

  private var rejections: [String] { log.lines.filter { $0.hasPrefix("rejected") } }

  // MARK: One entity at several places

  @Test(arguments: Place.allCases)
  func `an update counts at any of an entity's places`(place: Place) {
    let held = store.store(entity: Board(id: 1, item: Item(id: 2, key: "old")))
    #expect(store.update(Board.self, id: 1) { place.set("new", in: &$0) })
    #expect(store.find(Item.self, id: 2)?.value.key == "new")
    #expect(held.current.items.allSatisfy { $0.key == "new" } && held.current.items.count == Place.allCases.count)
  }

  @Test(arguments: Place.allCases)
  func `an update of an alias counts at any of an entity's places`(place: Place) {
    let key = AliasKey<Board>("board")
    _ = store.store(entity: Board(id: 1, item: Item(id: 2, key: "old")), named: key)
    #expect(store.update(named: key) { place.set("new", in: &$0) })
    #expect(store.find(Item.self, id: 2)?.value.key == "new")
    #expect(store.find(named: key).value?.items.allSatisfy { $0.key == "new" } == true)
  }

  @Test(arguments: Place.allCases)
  func `an update of a list under an alias counts at any of an entity's places`(place: Place) {
    let key = AliasKey<[Board]>("boards")
    _ = store.store(
      entities: [Board(id: 1, item: Item(id: 2, key: "old")), Board(id: 3, item: Item(id: 2, key: "old"))], named: key)
    #expect(store.update(named: key) { place.set("new", in: &$0[0]) })
    #expect(store.find(named: key).value?.flatMap(\.items).allSatisfy { $0.key == "new" } == true)
  }

  @Test(arguments: Place.allCases)
  func `a change by the closure for present entities counts at any of an entity's places`(place: Place) {
    let board = Board(id: 1, item: Item(id: 2, key: "old"))
    let held = store.store(entity: board)
    _ = store.store(entity: board, ifPresent: { place.set("new", in: &$0) })
    #expect(held.current.items.allSatisfy { $0.key == "new" })
  }

  @Test(arguments: Place.allCases)
  func `an update below an optimistic change counts at any of an entity's places`(place: Place) {
    let held = store.store(entity: Board(id: 1, item: Item(id: 2, key: "old")))
    let change = store.optimistically { draft in
      draft.update(Board.self, id: 1) { $0.title = "draft" }
      draft.update(Item.self, id: 2) { $0.key += "!" }
    }
    #expect(store.update(Board.self, id: 1) { place.set("new", in: &$0) })
    #expect(held.current.items.allSatisfy { $0.key == "new!" } && held.current.title == "draft")
    change.rollback()
    #expect(held.current.items.allSatisfy { $0.key == "new" } && held.current.title == "")
  }

  @Test(arguments: [false, true])
  func `an update counts at any depth`(isDeep: Bool) {
    let held = store.store(
      entity: Hall(id: 1, board: Board(id: 2, item: Item(id: 3, key: "old")), item: Item(id: 3, key: "old")))
    store.update(Hall.self, id: 1) { hall in
      if isDeep { hall.board.optional?.key = "new" } else { hall.item.key = "new" }
    }
    #expect(held.current.item.key == "new" && held.current.board.items.allSatisfy { $0.key == "new" })
  }

  @Test func `of two different changes of one entity in an aggregate the last place counts and the other is logged`() {
    let store = logged
    let held = store.store(
      entity: Document(id: 1, author: Leaf(2, "old"), editor: Leaf(2, "old"), readers: [Leaf(2, "old")]))
    store.update(Document.self, id: 1) { document in
      document.author.text = "first"
      document.editor.text = "second"
    }
    let new = Leaf(2, "second")
    #expect(held.current == Document(id: 1, author: new, editor: new, readers: [new]))
    #expect(rejections == ["rejected Leaf 2: differentChanges"])
  }

  @Test func `the same change of one entity at two places is no conflict`() {
    let store = logged
    let held = store.store(
      entity: Document(id: 1, author: Leaf(2, "old"), editor: Leaf(2, "old"), readers: [Leaf(2, "old")]))
    store.update(Document.self, id: 1) { document in
      document.author.text = "new"
      document.readers[0].text = "new"
    }
    #expect(held.current.editor.text == "new" && rejections.isEmpty)
  }

  @Test func `an entity that an update changes and moves keeps the change`() {
    let store = logged
    let held = store.store(
      entity: Document(id: 1, author: Leaf(2, "old"), editor: Leaf(3), readers: [Leaf(2, "old"), Leaf(4)]))
    store.update(Document.self, id: 1) { document in
      document.author.text = "new"
      document.editor = document.author
      document.readers.insert(Leaf(5), at: 0)
      document.readers.reverse()
    }
    let new = Leaf(2, "new")
    #expect(held.current == Document(id: 1, author: new, editor: new, readers: [Leaf(4), new, Leaf(5)]))
    #expect(store.find(Leaf.self, id: 3) == nil && rejections.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a change of an entity counts beside an aggregate that the update adds with the entity`(isInAdded: Bool) {
    let (old, new) = (Item(id: 3, key: "old"), Item(id: 3, key: "new"))
    let held = logged.store(entity: Hall(id: 1, board: Board(id: 2, item: old), item: old))
    let (added, other) = isInAdded ? (new, old) : (old, new)
    logged.update(Hall.self, id: 1) { ($0.board, $0.item) = (Board(id: 4, item: added), other) }
    #expect(held.current == Hall(id: 1, board: Board(id: 4, item: new), item: new) && rejections.isEmpty)
  }

  @Test func `an entry that an update appends to a list leaves changes of the entities in it`() {
    let (old, key) = (Item(id: 3, key: "old"), AliasKey<[Board]>("boards"))
    _ = store.store(entities: [Board(id: 2, item: old)], named: key)
    store.update(named: key) { boards in
      boards[0].one.key = "new"
      boards.append(Board(id: 4, item: old))
    }
    #expect(store.find(named: key).value?.flatMap(\.items).allSatisfy { $0.key == "new" } == true)
  }

  @Test(arguments: [0, 1])
  func `a change of either of two equal entries under an alias counts`(place: Int) {
    _ = store.store(entities: [Leaf(1, "old"), Leaf(1, "old")], named: .all)
    #expect(store.update(named: .all) { $0[place].text = "new" })
    #expect(store.find(named: .all).value == [Leaf(1, "new"), Leaf(1, "new")])
    #expect(store.find(Leaf.self, id: 1)?.value.text == "new")
  }

  @Test func `padding between fields does not hide the change of one list element`() {
    let store = logged
    let crew = (0..<20).map { Gapped(id: $0 % 2, name: "a name that is longer than a word", isOn: false) }
    let held = store.store(entity: Crew(id: 1, members: crew))
    for place in 0..<20 {
      store.update(Crew.self, id: 1) { $0.members[place].isOn.toggle() }
      let member = store.find(Gapped.self, id: place % 2)?.value
      #expect(
        member?.isOn == held.current.members[place].isOn && held.current.members[(place + 2) % 20].isOn == member?.isOn)
    }
    #expect(held.current.members[0].isOn == false && rejections.isEmpty)
  }

  // MARK: Stamps

  @Test func `an update stamps changed entities only`() {
    let store = logged
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old"), items: [Item(id: 3), Item(id: 4)]), modifiedAt: 1)
    #expect(
      store.update(Root.self, id: 1, modifiedAt: 10) { root in
        root.text = "new"
        root.items[1].key = "new"
      })
    _ = store.store(entity: Leaf(2, "fresh"), modifiedAt: 5)
    _ = store.store(entity: Item(id: 3, key: "fresh"), modifiedAt: 5)
    _ = store.store(entity: Item(id: 4, key: "late"), modifiedAt: 5)
    #expect(held.current.leaf.text == "fresh" && held.current.items.map(\.key) == ["fresh", "new"])
    #expect(rejections == ["rejected Item 4: tooOld(current: 10.0, received: 5.0)"])
  }

  @Test func `an update of an alias stamps changed entities only`() {
    _ = store.store(entities: [Leaf(1), Leaf(2)], named: .all, modifiedAt: 1)
    #expect(store.update(named: .all, modifiedAt: 10) { $0[0].text = "new" })
    _ = store.store(entities: [Leaf(1, "late"), Leaf(2, "fresh")], modifiedAt: 5)
    #expect(store.find(named: .all).value == [Leaf(1, "new"), Leaf(2, "fresh")])
  }

  @Test func `an update of an alias returns false when the stamp of its entity rejects the change`() {
    let store = logged
    _ = store.store(entity: Leaf(1, "old"), named: .chosen, modifiedAt: 1)
    let held = store.store(entity: Leaf(1, "newer"), modifiedAt: 10)
    #expect(!store.update(named: .chosen, modifiedAt: 5) { $0.text = "late" })
    #expect(store.value(named: .chosen) == Leaf(1, "newer") && held.current.text == "newer")
    #expect(rejections == ["rejected Leaf 1: tooOld(current: 10.0, received: 5.0)"])
  }

  @Test func `an alias that an update points to an entity with a higher stamp shows the stored value of the entity`() {
    let held = store.store(entity: Leaf(2, "newer"), modifiedAt: 10)
    _ = store.store(entity: Leaf(1, "old"), named: .chosen, modifiedAt: 1)
    #expect(!store.update(named: .chosen, modifiedAt: 5) { $0 = Leaf(2, "late") })
    #expect(store.value(named: .chosen) == Leaf(2, "newer") && held.current.text == "newer")
    #expect(store.update(named: .chosen, modifiedAt: 11) { $0.text = "newest" })
    #expect(store.value(named: .chosen) == Leaf(2, "newest"))
  }

  @Test func `an update of an alias returns false when its closure has stored the alias with a higher stamp`() {
    let store = store
    _ = store.store(entity: Leaf(1, "old"), named: .chosen, modifiedAt: 1)
    let isUpdated = store.update(named: .chosen, modifiedAt: 5) { leaf in
      _ = store.store(entity: Leaf(2, "later"), named: .chosen, modifiedAt: 10)
      leaf.text = "late"
    }
    #expect(!isUpdated && store.value(named: .chosen) == Leaf(2, "later"))
  }

  @Test func `an update of a list returns false when its closure has stored the list with a higher stamp`() {
    let store = store
    _ = store.store(entities: [Leaf(1)], named: .all, modifiedAt: 1)
    let isUpdated = store.update(named: .all, modifiedAt: 5) { leaves in
      _ = store.store(entities: [Leaf(2)], named: .all, modifiedAt: 10)
      leaves.append(Leaf(3))
    }
    #expect(!isUpdated && store.value(named: .all) == [Leaf(2)])
  }

  // MARK: Unchanged entities

  @Test func `an update calls the merge closure neither for changed nor for unchanged entities`() {
    store.setPolicy(for: Person.self) { $0.merge = { Person($1.id, $1.name, $0.friends + $1.friends) } }
    let held = store.store(entity: Team(id: 1, lead: Person(2, "lead", [Person(3, "friend")])))
    store.update(Team.self, id: 1) { $0.name = "new" }
    store.update(Team.self, id: 1) { $0.lead.name = "new" }
    #expect(held.current == Team(id: 1, name: "new", lead: Person(2, "new", [Person(3, "friend")])))
  }

  @Test func `an update leaves unchanged entities stale`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3)]))
    store.invalidate(Leaf.self, id: 2)
    store.invalidate(Item.self, id: 3)
    store.update(Root.self, id: 1) { root in
      root.text = "new"
      root.items[0].key = "new"
    }
    #expect(store.isStale(Leaf.self, id: 2) && !store.isStale(Item.self, id: 3))
    withExtendedLifetime(held) {}
  }

  @Test func `an update notifies no observer of entities that it leaves unchanged, even without an equality`() {
    let held = store.store(entity: Opaques(id: 1, opaques: [Opaque(id: 2), Opaque(id: 3)]))
    let (received, subscription) = store.find(Opaque.self, id: 2)!.changes()
    let (others, other) = store.find(Opaque.self, id: 3)!.changes()
    store.update(Opaques.self, id: 1) { $0.opaques[1].text = "new" }
    store.update(Opaques.self, id: 1) { _ in }
    #expect(received.count == 0 && others.count == 1)
    withExtendedLifetime((held, subscription, other)) {}
  }

  @Test func `updates in a transaction that throws are rolled back`() {
    struct Refusal: Error {}
    let board = Board(id: 1, item: Item(id: 2, key: "old"))
    let held = store.store(entity: board)
    try? store.transaction { store throws in
      for place in Place.allCases { store.update(Board.self, id: 1) { place.set("undone \(place)", in: &$0) } }
      throw Refusal()
    }
    #expect(held.current == board && store.find(Item.self, id: 2)?.value.key == "old")
  }
}

/// Random changes at random places, held against a dictionary.
///
/// `COHERENCE_SEED` repeats a run.
@Suite("Random updates of aggregates")
struct UpdateMixtureTests {
  @Test(arguments: SeededRandom.seeds)
  func `every place shows the value of the last update`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    let store = makeStore()
    var texts = (0..<4).map { _ in "old" }
    func leaf(_ id: Int) -> Leaf { Leaf(id, texts[id]) }
    var document = Document(id: 1, author: leaf(0), editor: leaf(1), readers: (0..<4).map(leaf))
    let held = store.store(entity: document)
    let all = store.store(entities: (0..<4).map(leaf))
    for step in 0..<2_000 {
      let (kind, place, text) = (
        Int.random(in: 0..<5, using: &random), Int.random(in: 0..<6, using: &random), "\(step)"
      )
      store.update(Document.self, id: 1) { value in
        switch kind {
        case 0: value.readers.shuffle(using: &random)
        case 1: value.readers.append(value.author)
        case 2: if value.readers.count > 2 { value.readers.removeFirst() }
        case 3: swap(&value.author, &value.editor)
        default: break
        }
        let id: Int
        switch place {
        case 0: (id, value.author.text) = (value.author.id, text)
        case 1: (id, value.editor.text) = (value.editor.id, text)
        default:
          let index = place % value.readers.count
          (id, value.readers[index].text) = (value.readers[index].id, text)
        }
        texts[id] = text
        document = value
      }
      document.author = leaf(document.author.id)
      document.editor = leaf(document.editor.id)
      document.readers = document.readers.map { leaf($0.id) }
      guard held.current == document, all.current.map(\.text) == texts else {
        Issue.record("A value differs from the update's at step \(step) of seed \(seed).")
        return
      }
    }
  }
}

/// The ways in which one entity is in a board.
enum Place: CaseIterable {
  case one, optional, first, last, hole, nested, named, set, wrapped

  fileprivate func set(_ key: String, in board: inout Board) {
    switch self {
    case .one: board.one.key = key
    case .optional: board.optional?.key = key
    case .first: board.list[0].key = key
    case .last: board.list[1].key = key
    case .hole: board.holes[1]?.key = key
    case .nested: board.nested[1][0].key = key
    case .named: board.named["a"]?.key = key
    case .set: board.set = [Item(id: board.one.id, key: key)]
    case .wrapped: board.wrapped = .item(Item(id: board.one.id, key: key))
    }
  }
}

private struct Board: Aggregate, Equatable {
  let id: Int
  var title = ""
  var one: Item
  var optional: Item?
  var list: [Item]
  var holes: [Item?]
  var nested: [[Item]]
  var named: [String: Item]
  var set: Set<Item>
  var wrapped: Wrapper

  init(id: Int, item: Item) {
    (self.id, one, optional, list, holes) = (id, item, item, [item, item], [nil, item])
    (nested, named, set, wrapped) = ([[], [item]], ["a": item], [item], .item(item))
  }

  /// One of each place.
  var items: [Item] {
    [one] + [optional, holes[1], wrapped.item].compactMap { $0 } + list + nested[1] + Array(named.values) + Array(set)
  }

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [
      .init(\.one), .init(\.optional), .init(\.list), .init(optionals: \.holes), .init(lists: \.nested), .init(\.named),
      .init(\.set), .init(wrapper: \.wrapped),
    ]
  }
}

private struct Hall: Aggregate, Equatable {
  let id: Int
  var board: Board
  var item: Item
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.board), .init(\.item)] }
}

private struct Pair: Aggregate, Equatable {
  let id: Int
  var first: Board
  var second: Board
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.first), .init(\.second)] }
}

private struct Team: Aggregate, Equatable {
  let id: Int
  var name = ""
  var lead: Person
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.lead)] }
}

private struct Opaques: Aggregate {
  let id: Int
  var opaques: [Opaque]
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.opaques)] }
}

/// Seven bytes lie between two of its fields that belong to neither, and its equality does not see everything.
private struct Gapped: Identifiable, Equatable, Sendable {
  let id: Int
  var name: String
  var isOn: Bool
  var number = 0
}

private struct Crew: Aggregate {
  let id: Int
  var members: [Gapped]
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.members)] }
}
