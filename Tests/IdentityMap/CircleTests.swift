import CoherenceIdentityMap
import TestRandom
import Testing

/// Random changes of entities that contain each other.
///
/// `COHERENCE_SEED` repeats a run.
@Suite("Random operations on cycles")
struct CircleMixtureTests {
  @Test(arguments: SeededRandom.seeds)
  func `members of a friends list show their current values, and an undone transaction leaves no trace`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var circle = CircleMixture(seed: seed)
    for step in 0..<1_000 {
      circle.step()
      if let fault = circle.fault {
        Issue.record("\(fault) at step \(step) of seed \(seed).")
        return
      }
    }
    let isEmpty = circle.isEmptyAfterAll()
    #expect(isEmpty, "Something is left after seed \(seed).")
  }
}

/// Cyclic values that contain a second version of the stored entity.
@Suite("Changing cycles")
struct CircleChangeTests {
  private let store = makeStore()

  @Test func `a second version of an entity deep inside a cycle becomes its current value`() {
    let held = store.store(
      entity: Person(1, "a", [Person(2, "b", [Person(3, "c", [Person(4, "d"), Person(5, "e")])])]))
    let second = store.find(Person.self, id: 2)
    // The update changes 4, and so 3 and 2, before the links of 2 change.
    store.update(Person.self, id: 5) { $0.friends = [Person(2, "f", [Person(4, "g"), Person(1, "h")])] }
    #expect(second?.current.friends.map(\.name) == ["g", "h"])
    #expect(held.current.name == "h" && held.current.friends.isEmpty)
  }

  @Test func `an entity that closes a cycle shows its current value after the removal of another entity`() {
    let held = store.store(entity: Person(4, "a", [Person(0, "b", [Person(1, "c"), Person(4, "a")])]))
    let first = store.find(Person.self, id: 0)
    _ = store.store(entity: Person(4, "new"))
    store.remove(Person.self, id: 1)
    #expect(first?.current == Person(0, "b", [Person(4, "new")]))
    withExtendedLifetime(held) {}
  }

  @Test func `an update changes an entity that has closed a cycle before`() {
    let first = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    let second = store.find(Person.self, id: 2)
    store.update(Person.self, id: 1) { $0.friends = [] }
    store.update(Person.self, id: 2) { $0.friends[0].name = "new" }
    #expect(first.current == Person(1, "new") && second?.current == Person(2, "b", [Person(1, "new")]))
  }

  /// A write that leaves an entity as it is.
  enum Repetition: CaseIterable, Sendable { case update, store, storeWithStamp }

  @Test(arguments: Repetition.allCases)
  func `an aggregate above a cycle that has ended is current after a store or an update that changes nothing`(
    repetition: Repetition
  ) {
    let outer = store.store(entity: Person(3, "c", [Person(2, "b")]))
    let first = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    let second = store.find(Person.self, id: 2)
    store.update(Person.self, id: 1) { $0.friends = [] }
    store.update(Person.self, id: 1) { $0.name = "new" }
    let (received, subscription) = outer.changes()
    switch repetition {
    case .update: store.update(Person.self, id: 2) { _ in }
    case .store: _ = second.map { store.store(entity: $0.current) }
    case .storeWithStamp: _ = second.map { store.store(entity: $0.current, modifiedAt: 5) }
    }
    let expected = Person(3, "c", [Person(2, "b", [Person(1, "new")])])
    #expect(outer.current == expected && received.values == [expected])
    store.update(Person.self, id: 1) { $0.name = "newer" }
    #expect(outer.current == Person(3, "c", [Person(2, "b", [Person(1, "newer")])]) && received.count == 2)
    withExtendedLifetime((first, subscription)) {}
  }

  @Test func `an aggregate shows every later change after an update that throws has found the end of a cycle`() {
    struct Refusal: Error {}
    let outer = store.store(entity: Person(3, "c", [Person(2, "b")]))
    let first = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    let open = store.optimistically { draft in draft.update(Person.self, id: 2) { $0.name = "open" } }
    _ = store.store(entity: Person(1, "a"))
    #expect(outer.current == Person(3, "c", [Person(2, "open", [Person(1, "a")])]))
    #expect(throws: Refusal.self) { try store.update(Person.self, id: 2) { _ in throw Refusal() } }
    store.update(Person.self, id: 1) { $0.name = "new" }
    #expect(outer.current == Person(3, "c", [Person(2, "open", [Person(1, "new")])]))
    withExtendedLifetime((first, open)) {}
  }

  /// The number of people on the way over the first friends.
  private func depth(_ person: Person) -> Int {
    var (depth, next) = (1, person)
    while let friend = next.friends.first { (depth, next) = (depth + 1, friend) }
    return depth
  }

  @Test func `optimistic changes of an entity in a cycle make its value no deeper`() {
    let held = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    let other = store.find(Person.self, id: 2)
    func depths() -> [Int?] { [depth(held.current), other.map { depth($0.current) }] }
    let before = depths()
    func change(_ name: String) -> OptimisticChange {
      store.optimistically { draft in for id in 1...2 { draft.update(Person.self, id: id) { $0.name = name } } }
    }
    for index in 0..<8 { if index % 2 == 0 { change("\(index)").rollback() } else { change("\(index)").commit() } }
    #expect(depths() == before)
    let open = change("open")
    for index in 0..<8 { for id in 1...2 { store.update(Person.self, id: id) { $0.name = "\(index)" } } }
    #expect(depths() == before)
    open.rollback()
    #expect(depths() == before)
    #expect(held.current.name == "7" && other?.current.friends.map(\.name) == ["7"])
  }
}

/// The visible people of a store, each with the names of the friends it shows. Friends of friends are left out: a
/// person that closes a cycle is shown there with its stored value.
private struct CircleSight: Equatable {
  struct Entry: Equatable {
    let id: Int
    let name: String
    let friends: [String]
  }

  private let people: [Entry]

  init(_ store: EntityStore) {
    people = store.query(Person.self, sortedBy: \.id).value.map { person in
      Entry(id: person.id, name: person.name, friends: person.friends.map { "\($0.id) \($0.name)" })
    }
  }

  var isConsistent: Bool {
    let names = Set(people.map { "\($0.id) \($0.name)" })
    return people.allSatisfy { $0.friends.allSatisfy(names.contains) }
  }
}

private struct CircleMixture {
  private struct Refusal: Error {}

  private let store = makeStore()
  private var random: SeededRandom
  private var number = 0
  private var held: [EntityObserver<Person>] = []
  private var changes: [OptimisticChange] = []
  private(set) var fault: String?

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
  }

  private mutating func any(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func person(depth: Int = 0) -> Person {
    number += 1
    let (id, name) = (any(6), any(3) == 0 ? "same" : "\(number)")
    return Person(id, name, depth < 2 ? (0..<any(3)).map { _ in person(depth: depth + 1) } : [])
  }

  private mutating func change() -> (EntityStore) -> Void {
    let (person, kind) = (person(), any(5))
    switch kind {
    case 0: return { $0.update(Person.self, id: person.id) { $0.name = person.name } }
    case 1: return { $0.update(Person.self, id: person.id) { $0.friends = person.friends } }
    case 2: return { $0.remove(Person.self, id: person.id) }
    default: return { _ = $0.store(entity: person) }
    }
  }

  private mutating func draft() -> OptimisticChange {
    let (person, kind) = (person(), any(4))
    return store.optimistically { draft in
      switch kind {
      case 0: draft.update(Person.self, id: person.id) { $0.name = person.name }
      case 1: draft.update(Person.self, id: person.id) { $0.friends = person.friends }
      case 2: draft.remove(Person.self, id: person.id)
      default: draft.store(person)
      }
    }
  }

  mutating func step() {
    let kind = any(8)
    switch kind {
    case 0, 1, 2: change()(store)
    case 3: held.append(store.store(entity: person()))
    case 4: if !held.isEmpty { held.remove(at: any(held.count)) }
    case 5: changes.append(draft())
    case 6: endChange()
    default: undo()
    }
    if !CircleSight(store).isConsistent { fault = "A person differs from its entity" }
  }

  private mutating func endChange() {
    guard !changes.isEmpty else { return }
    let change = changes.remove(at: any(changes.count))
    if any(2) == 0 { change.commit() } else { change.rollback() }
  }

  private mutating func undo() {
    let before = CircleSight(store)
    let doings = (0..<4).map { _ in change() }
    try? store.transaction { store throws in
      for doing in doings { doing(store) }
      if !CircleSight(store).isConsistent { fault = "A person differs from its entity in a transaction" }
      throw Refusal()
    }
    if CircleSight(store) != before { fault = "What was undone is still there" }
  }

  mutating func isEmptyAfterAll() -> Bool {
    (held, changes) = ([], [])
    return store.inspect().entities.isEmpty && store.count(of: Person.self) == 0
  }
}
