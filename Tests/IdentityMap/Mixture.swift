import CoherenceIdentityMap
import TestRandom

/// A store with random operations, its observers, and a twin that receives no tentative changes.
struct Mixture {
  private struct Refusal: Error {}

  private let store = makeStore()
  private let twin = makeStore()
  private var random: SeededRandom
  private var number = 0
  private var held: [Any] = []
  private var changes: [OptimisticChange] = []
  private var watches: [Watch] = []
  private(set) var fault: String?

  /// An observer, and whether its last notification is the present state.
  private struct Watch {
    let count: () -> Int
    let isCurrent: () -> Bool
    let subscription: EntityStore.Subscription
  }

  init(seed: UInt64, isPinned: Bool) {
    random = SeededRandom(seed: seed)
    guard isPinned else { return }
    for store in [store, twin] {
      store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
      store.setPolicy(for: Item.self) { $0.lifetime = .pinned }
      store.setPolicy(for: MixedGroup.self) { $0.lifetime = .pinned }
      store.setPolicy(for: MixedShelf.self) { $0.lifetime = .pinned }
      _ = store.store(entity: Leaf(8))
    }
  }

  private mutating func any(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func leaf() -> Leaf {
    number += 1
    return Leaf(any(8), any(3) == 0 ? "same" : "\(number)")
  }

  private mutating func item() -> Item {
    number += 1
    return Item(id: any(4), key: any(3) == 0 ? "same" : "\(number)")
  }

  private mutating func wrapper() -> Wrapper? {
    let (leaf, item, kind) = (leaf(), item(), any(5))
    switch kind {
    case 0: return .leaf(leaf)
    case 1: return .item(item)
    case 2: return .nothing
    default: return nil
    }
  }

  private mutating func group() -> MixedGroup {
    number += 1
    var group = MixedGroup(id: any(4), name: any(3) == 0 ? "same" : "\(number)", first: leaf())
    group.leaves = (0..<any(3)).map { _ in leaf() }
    for leaf in (0..<any(3)).map({ _ in leaf() }) { group.named["\(leaf.id)"] = leaf }
    for item in (0..<any(3)).map({ _ in item() }) where !group.tags.contains(where: { $0.id == item.id }) {
      group.tags.insert(item)
    }
    group.wrapper = wrapper()
    return group
  }

  private mutating func shelf() -> MixedShelf {
    number += 1
    return MixedShelf(id: any(3), name: any(3) == 0 ? "same" : "\(number)", group: any(4) == 0 ? nil : group())
  }

  // MARK: Confirmed changes

  /// Does something, and says how to do the same with another store.
  private mutating func change() -> (EntityStore) -> Bool {
    let (leaf, item, group, shelf) = (leaf(), item(), group(), shelf())
    let (stamp, kind) = (any(4) == 0 ? Double(any(number + 1)) : nil, any(17))
    switch kind {
    case 0, 1:
      return {
        _ = $0.store(entity: leaf, modifiedAt: stamp); return true
      }
    case 2, 3:
      return {
        _ = $0.store(entity: group, modifiedAt: stamp); return true
      }
    case 4:
      return {
        _ = $0.store(entity: shelf, modifiedAt: stamp); return true
      }
    case 5, 6: return Self.aliasChange(kind == 5 ? any(3) : 3, group)
    case 7: return { $0.update(Leaf.self, id: leaf.id) { $0.text = leaf.text } }
    case 8: return { $0.update(MixedGroup.self, id: group.id) { $0.name = group.name } }
    case 9: return { $0.update(MixedShelf.self, id: shelf.id) { $0.name = shelf.name } }
    case 10: return { $0.remove(Leaf.self, id: leaf.id) || true }
    case 11: return { $0.remove(MixedGroup.self, id: group.id) || true }
    case 12:
      return {
        _ = $0.store(entity: item, modifiedAt: stamp); return true
      }
    case 13: return { $0.remove(Item.self, id: item.id) || true }
    case 14, 15: return Self.aliasChange(any(3), group)
    default:
      return {
        $0.update(MixedGroup.self, id: group.id) {
          $0.tags = group.tags
          $0.wrapper = group.wrapper
        }
      }
    }
  }

  private static func aliasChange(_ kind: Int, _ group: MixedGroup) -> (EntityStore) -> Bool {
    let groups = AliasKey<[MixedGroup]>("groups")
    return { store in
      switch kind {
      case 0: _ = store.store(entities: [group], named: groups)
      case 1: store.append(entities: [group], named: groups)
      case 2: return store.update(named: groups) { $0.reverse() }
      default: store.removeAlias(named: groups)
      }
      return true
    }
  }

  // MARK: Tentative changes

  private mutating func beginChange() {
    let (id, other, text) = (any(8), any(4), "draft \(number)")
    let (kind, stored) = (any(9), group())
    if any(3) == 0 { return beginEdit(with: stored, other) }
    changes.append(
      store.optimistically { draft in
        switch kind {
        case 0: draft.update(Leaf.self, id: id) { $0.text = text }
        case 1: draft.update(MixedGroup.self, id: other) { $0.name = text }
        case 2:
          draft.update(MixedGroup.self, id: other) {
            $0.leaves = []
            $0.named = [:]
          }
        case 3: draft.remove(Leaf.self, id: id)
        case 4: draft.update(MixedGroup.self, id: other) { $0.leaves = stored.leaves }
        case 5: draft.remove(Item.self, id: other)
        case 6: draft.update(Item.self, id: other) { $0.key = text }
        case 7:
          draft.update(MixedGroup.self, id: other) {
            $0.tags = stored.tags
            $0.wrapper = stored.wrapper
          }
        default: draft.store(stored)
        }
      })
  }

  /// Edits the list of the alias.
  private mutating func beginEdit(with stored: MixedGroup, _ other: Int) {
    let (kind, groups) = (any(6), AliasKey<[MixedGroup]>("groups"))
    changes.append(
      store.optimistically { draft in
        switch kind {
        case 0: draft.insert(stored, named: groups)
        case 1: draft.insert(stored, at: .after(other), named: groups)
        case 2: draft.append(entities: [stored], named: groups)
        case 3: draft.removeEntry(other, named: groups)
        case 4: draft.replaceEntry(other, with: stored, named: groups)
        default: draft.store([stored], named: groups)
        }
      })
  }

  private mutating func endChange(confirming: Bool) {
    guard !changes.isEmpty else { return }
    let place = any(changes.count)
    let change = changes.remove(at: place)
    if confirming { change.commit() } else { change.rollback() }
  }

  // MARK: Steps

  mutating func step() {
    switch any(10) {
    case 0..<4: _ = change()(store)
    case 4: keep()
    case 5: letGo()
    case 6: beginChange()
    case 7: endChange(confirming: any(2) == 0)
    case 8: watch()
    default: undo()
    }
    check()
  }

  private mutating func keep() {
    let (leaf, group, shelf) = (leaf(), group(), shelf())
    let kind = any(3)
    switch kind {
    case 0: held.append(store.store(entity: leaf))
    case 1: held.append(store.store(entity: group))
    default: held.append(store.store(entity: shelf))
    }
  }

  private mutating func letGo() {
    if !held.isEmpty { held.remove(at: any(held.count)) }
    if watches.count > 10 { watches.remove(at: any(watches.count)) }
  }

  private mutating func watch() {
    let kind = any(6)
    switch kind {
    case 0: watch(store.await(Leaf.self, id: any(8)))
    case 1: watch(store.await(MixedGroup.self, id: any(4)))
    case 2: watch(store.await(MixedShelf.self, id: any(3)))
    case 3: watch(store.query(MixedShelf.self, sortedBy: \.id))
    case 4: watchSnapshot()
    default: watch(store.find(named: AliasKey<[MixedGroup]>("groups")))
    }
  }

  private mutating func watch<T: Equatable>(_ observer: EntityObserver<T>) {
    let received = Received<T>()
    let subscription = observer.observe { received.append($0) }
    watches.append(
      Watch(
        count: { received.count }, isCurrent: { received.values.last == observer.current }, subscription: subscription))
  }

  /// Observes parts that contain each other: of two states, some entity has two values.
  private mutating func watchSnapshot() {
    let observer = store.snapshot(
      of: .query(Leaf.self), .query(Item.self), .query(MixedGroup.self), .entity(MixedShelf.self, id: any(3)),
      .alias(AliasKey<[MixedGroup]>("groups")))
    let (received, mixed) = (Received<MixedStoreState>(), Received<MixedStoreState>())
    let subscription = observer.observe {
      received.append(MixedStoreState(parts: $0))
      if !MixedStoreState(parts: $0).isConsistent { mixed.append(MixedStoreState(parts: $0)) }
    }
    let isCurrent = { received.values.last == MixedStoreState(parts: observer.current) && mixed.count == 0 }
    watches.append(Watch(count: { received.count }, isCurrent: isCurrent, subscription: subscription))
  }

  /// Many undone changes, after which the store is as it was.
  private mutating func undo() {
    let (before, counts) = (MixedStoreState(store), watches.map { $0.count() })
    let doings = (0..<4).map { _ in change() }
    let (inner, removal, text, open) = (change(), any(8), "undone \(number)", changes.randomElement(using: &random))
    let (ending, entry) = (any(4), group())
    try? store.transaction { store in
      for doing in doings { _ = doing(store) }
      try? store.transaction { store in
        _ = inner(store)
        throw Refusal()
      }
      let change = store.optimistically { draft in
        draft.remove(Leaf.self, id: removal)
        draft.remove(Item.self, id: removal / 2)
        draft.update(MixedGroup.self, id: removal % 4) { $0.name = text }
        draft.insert(entry, named: AliasKey<[MixedGroup]>("groups"))
      }
      if ending == 0 { open?.rollback() }
      if ending == 1 { open?.commit() }
      if ending == 2 { change.commit() }
      if !MixedStoreState(store).isConsistent {
        fault = "A transaction sees different values of one entity"
      }
      throw Refusal()
    }
    if MixedStoreState(store) != before { fault = "What was undone is still there" }
    if watches.map({ $0.count() }) != counts { fault = "Observers received a rolled-back change" }
  }

  /// Releases everything.
  mutating func isEmptyAfterAll() -> Bool {
    (held, changes, watches) = ([], [], [])
    store.removeAllAlias()
    return store.inspect().entities.isEmpty && store.inspect().aliases.isEmpty
      && store.count(of: Leaf.self) + store.count(of: Item.self) + store.count(of: MixedGroup.self)
        + store.count(of: MixedShelf.self) == 0
  }

  private mutating func check() {
    if !MixedStoreState(store).isConsistent {
      fault = "One entity has different values"
    }
    if !watches.allSatisfy({ $0.isCurrent() }) { fault = "An observer received another value" }
  }

  // MARK: Against a store without tentative changes

  mutating func stepWithTwin() {
    switch any(6) {
    case 0..<3:
      let change = change()
      if appliesToTwin(change), change(store) { _ = change(twin) }
    case 3: beginChange()
    case 4: endChange(confirming: false)
    default: undo()
    }
  }

  /// An update of a tentative aggregate confirms the entities that it edits. The twin, which has no such aggregate,
  /// could not follow.
  private func appliesToTwin(_ change: (EntityStore) -> Bool) -> Bool {
    var applies = false
    try? twin.transaction { twin in
      applies = change(twin)
      throw Refusal()
    }
    return applies
  }

  mutating func faultAgainstTwin() -> String? {
    if let fault { return fault }
    while !changes.isEmpty { endChange(confirming: false) }
    let (state, expected) = (MixedStoreState(store), MixedStoreState(twin))
    return state == expected ? nil : "Something was left: \(state) instead of \(expected)"
  }
}
