import CoherenceIdentityMap
import Foundation
import Testing

/// A value that a store releases can hold the last reference to an object whose `deinit` uses the store.
@Suite("Objects whose deinit uses the store")
struct ReentranceTests {
  private let store = makeStore()
  private let seen = Received<Bool>()

  /// Stores the first of two values. At the end of the object in it, the entity is looked at.
  private func storeFirst() {
    let probe = Probe { [store, seen] in
      guard let found = store.find(Guarded.self, id: 1)?.value else { return }
      seen.append(found.isWhole && found.last == 2)
    }
    _ = store.store(entity: Guarded(id: 1, 1, probe))
  }

  private func storeSecond() {
    _ = store.store(entity: Guarded(id: 1, 2, Probe()))
  }

  // MARK: Reads in deinit

  @Test func `an entity is whole when its former value is released`() {
    let held = store.store(entity: Guarded(id: 1, 0, Probe()))
    storeFirst()
    storeSecond()
    #expect(seen.values == [true] && held.current.last == 2)
  }

  @Test func `an awaited entity is whole when its former value is released`() {
    let held = store.await(Guarded.self, id: 1)
    storeFirst()
    storeSecond()
    #expect(seen.values == [true] && held.current?.last == 2)
  }

  @Test(arguments: [false, true])
  func `an entity is whole when a transaction releases its former value`(isWatched: Bool) throws {
    let held = store.store(entity: Guarded(id: 1, 0, Probe()))
    let awaited = isWatched ? store.await(Guarded.self, id: 1) : nil
    storeFirst()
    try store.transaction { _ throws in storeSecond() }
    #expect(seen.values == [true] && held.current.last == 2)
    withExtendedLifetime(awaited) {}
  }

  @Test func `an entity is whole when a confirmed change replaces its former value`() {
    let held = store.await(Guarded.self, id: 1)
    storeFirst()
    store.optimistically { $0.store(Guarded(id: 1, 2, Probe())) }.commit()
    #expect(seen.values == [true] && held.current?.last == 2)
  }

  @Test func `an aggregate is whole when its former value is released`() {
    let held = store.await(GuardedPair.self, id: 1)
    storeFirstPair()
    _ = store.store(entity: GuardedPair(id: 1, 2, leaf: Leaf(2, "b"), Probe()))
    #expect(seen.values == [true] && held.current?.last == 2)
  }

  private func storeFirstPair() {
    let probe = Probe { [store, seen] in
      guard let found = store.find(GuardedPair.self, id: 1)?.value else { return }
      seen.append(found.isWhole && found.last == 2 && found.leaf == Leaf(2, "b"))
    }
    _ = store.store(entity: GuardedPair(id: 1, 1, leaf: Leaf(1, "a"), probe))
  }

  @Test func `an observed entity can be read when its former value is released`() {
    let observed = store.store(entity: Guarded(id: 1, 0, Probe())).observed()
    let probe = { [seen] in Probe { [weak observed] in seen.append(observed?.value.last == 2) } }
    _ = store.store(entity: Guarded(id: 1, 1, probe()))
    storeSecond()
    #expect(seen.values == [true] && observed.value.last == 2)
  }

  // MARK: Writes in deinit

  @Test(arguments: [false, true])
  func `a value stored when the former value is released counts`(isWatched: Bool) {
    let held = store.store(entity: Guarded(id: 1, 0, Probe()))
    let awaited = isWatched ? store.await(Guarded.self, id: 1) : nil
    _ = store.store(
      entity: Guarded(id: 1, 1, Probe { [store] in _ = store.store(entity: Guarded(id: 1, 3, Probe())) }))
    storeSecond()
    #expect(held.current.isWhole && held.current.last == 3)
    withExtendedLifetime(awaited) {}
  }

  @Test func `a write that runs when a transaction releases a former value is not part of the transaction`() throws {
    let (held, other) = (store.store(entity: Guarded(id: 1, 0, Probe())), store.store(entity: Leaf(1, "old")))
    _ = store.store(
      entity: Guarded(id: 1, 1, Probe { [store] in store.update(Leaf.self, id: 1) { $0.text = "new" } }))
    try store.transaction { _ throws in storeSecond() }
    #expect(other.current.text == "new")
    try? store.transaction { store throws in
      store.update(Leaf.self, id: 1) { $0.text = "undone" }
      throw Refusal()
    }
    #expect(other.current.text == "new" && held.current.last == 2)
  }

  @Test(arguments: [false, true])
  func `a rolled-back value is released after every entity is restored`(isWatched: Bool) {
    let (held, other) = (store.store(entity: Guarded(id: 1, 2, Probe())), store.store(entity: Leaf(1, "old")))
    let awaited = isWatched ? store.await(Guarded.self, id: 1) : nil
    try? store.transaction { store throws in
      store.update(Leaf.self, id: 1) { $0.text = "undone" }
      storeFirst()
      throw Refusal()
    }
    #expect(seen.values == [true] && held.current.last == 2 && other.current.text == "old")
    withExtendedLifetime(awaited) {}
  }

  // MARK: Copies in aggregates

  @Test func `an aggregate is whole when its copy of an entity's former value is released`() {
    let held = store.store(entity: GuardedHolder(id: 1, guarded: Guarded(id: 1, 0, Probe())))
    storeFirstLookingAtHolder()
    #expect(held.current.guarded.last == 1)
    storeSecond()
    #expect(held.current.guarded.last == 2)
    #expect(seen.values == [true])
  }

  private func storeFirstLookingAtHolder() {
    let probe = Probe { [store, seen] in
      guard let found = store.find(GuardedHolder.self, id: 1)?.value.guarded else { return }
      seen.append(found.isWhole && found.last == 2)
    }
    _ = store.store(entity: Guarded(id: 1, 1, probe))
  }

  @Test(arguments: HolderKind.allCases)
  func `the deinit of a former nested value may change the aggregates`(kind: HolderKind) {
    let holder = kind.store(in: store, of: Guarded(id: 1, 0, Probe()))
    _ = store.store(
      entity: Guarded(id: 1, 1, Probe { [store] in kind.change(in: store, to: Guarded(id: 2, 3, Probe())) }))
    #expect(holder() == [1])
    storeSecond()
    // The read returns the value from before the change. Reading releases the copy, and with it the object.
    #expect(holder() == [2])
    #expect(holder() == [3])
  }

  @Test func `an aggregate's copy of an entity's former value is released after the transaction`() throws {
    let held = store.store(entity: GuardedHolder(id: 1, guarded: Guarded(id: 1, 0, Probe())))
    _ = store.store(entity: Guarded(id: 1, 1, Probe { [seen] in seen.append(true) }))
    _ = held.current
    try store.transaction { [seen] _ throws in
      storeSecond()
      #expect(held.current.guarded.last == 2)
      #expect(seen.values == [])
    }
    #expect(seen.values == [true])
  }

  @Test func `a setter that stores its own aggregate ends the process with a message`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      // A process that never ends would block threads that run the tests.
      alarm(300)
      let store = makeStore()
      let held = store.store(entity: MeddlingHolder(id: 1, leaf: Leaf(1, "a"), store: store))
      _ = store.store(entity: Leaf(1, "b"))
      _ = held.current
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("MeddlingHolder 1 was changed while it was being made up to date"))
  }
}

/// The ways in which entities lie in something.
enum HolderKind: CaseIterable {
  case one, optional, list, set, dictionary, computed, alias

  /// - Returns: A function that returns the current numbers of the entities.
  fileprivate func store(in store: EntityStore, of guarded: Guarded) -> () -> [Int] {
    if self == .alias {
      _ = store.store(entities: [guarded], named: .guarded)
      return { store.find(named: .guarded).value?.map(\.last) ?? [] }
    }
    let held = store.store(entity: holder(of: guarded))
    return { held.current.all.map(\.last) }
  }

  fileprivate func change(in store: EntityStore, to guarded: Guarded) {
    if self == .alias {
      _ = store.store(entities: [guarded], named: .guarded)
    } else {
      _ = store.store(entity: holder(of: guarded))
    }
  }

  private func holder(of guarded: Guarded) -> ManyHolder {
    var holder = ManyHolder(id: 1)
    switch self {
    case .one: holder.one = guarded
    case .optional: holder.optional = guarded
    case .list: holder.list = [guarded]
    case .set: holder.set = [guarded]
    case .dictionary: holder.dictionary = ["a": guarded]
    case .computed: holder.computed = guarded
    case .alias: break
    }
    return holder
  }
}

private struct Refusal: Error {}

/// Does something at its end.
private final class Probe: Sendable {
  private let atEnd: @Sendable () -> Void

  init(atEnd: @escaping @Sendable () -> Void = {}) {
    self.atEnd = atEnd
  }

  deinit {
    atEnd()
  }
}

/// An object between two equal numbers.
private struct Guarded: Identifiable, Equatable, Sendable {
  let id: Int
  let first: Int
  let probe: Probe
  let last: Int

  init(id: Int, _ number: Int, _ probe: Probe) {
    (self.id, first, self.probe, last) = (id, number, probe, number)
  }

  var isWhole: Bool { first == last }

  static func == (a: Guarded, b: Guarded) -> Bool { (a.id, a.first, a.last) == (b.id, b.first, b.last) }
}

/// The same with an entity in it.
private struct GuardedPair: Aggregate, Equatable {
  let id: Int
  let first: Int
  var leaf: Leaf
  let probe: Probe
  let last: Int

  init(id: Int, _ number: Int, leaf: Leaf, _ probe: Probe) {
    (self.id, first, self.leaf, self.probe, last) = (id, number, leaf, probe, number)
  }

  var isWhole: Bool { first == last }
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.leaf)] }

  static func == (a: GuardedPair, b: GuardedPair) -> Bool {
    (a.id, a.first, a.last, a.leaf.id) == (b.id, b.first, b.last, b.leaf.id) && a.leaf == b.leaf
  }
}

extension AliasKey where T == [Guarded] {
  fileprivate static var guarded: Self { AliasKey(named: "guarded") }
}

extension Guarded: Hashable {
  func hash(into hasher: inout Hasher) {
    hasher.combine(last)
  }
}

private struct ManyHolder: Aggregate, Equatable {
  let id: Int
  var one = Guarded(id: 100, 0, Probe())
  var optional: Guarded?
  var list: [Guarded] = []
  var set: Set<Guarded> = []
  var dictionary: [String: Guarded] = [:]
  private var boxed: [Guarded] = []

  init(id: Int) {
    self.id = id
  }

  var computed: Guarded? {
    get { boxed.first }
    set { boxed = newValue.map { [$0] } ?? [] }
  }

  /// All guarded entities except the fixed one.
  var all: [Guarded] {
    [one].filter { $0.id != 100 } + [optional, computed].compactMap { $0 } + list + set + dictionary.values
  }

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [
      .init(\.one), .init(\.optional), .init(\.list), .init(\.set), .init(\.dictionary), .init(\.computed),
    ]
  }
}

/// Stores itself in a setter.
private struct MeddlingHolder: Aggregate {
  let id: Int
  private var stored: Leaf
  let store: EntityStore

  init(id: Int, leaf: Leaf, store: EntityStore) {
    (self.id, stored, self.store) = (id, leaf, store)
  }

  var leaf: Leaf {
    get { stored }
    set {
      _ = store.store(entity: MeddlingHolder(id: id, leaf: Leaf(2, "c"), store: store))
      stored = newValue
    }
  }

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.leaf)] }
}

private struct GuardedHolder: Aggregate, Equatable {
  let id: Int
  var guarded: Guarded
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.guarded)] }
}
