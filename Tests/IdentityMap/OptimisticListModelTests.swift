import CoherenceIdentityMap
import Foundation
import TestRandom
import Testing

/// Random edits of a list, each step held against plain arrays of identifiers.
///
/// `COHERENCE_SEED` repeats a run.
@Suite("Random edits of an alias against a model")
struct OptimisticListModelTests {
  private static let steps =
    (ProcessInfo.processInfo.environment["COHERENCE_IDENTITY_MAP_OPERATIONS"].flatMap { Int($0) } ?? 40_000) / 10

  @Test(arguments: SeededRandom.seeds)
  func `a list with tentative edits has the same entries as a model of plain arrays`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var run = ListRun(seed: seed)
    for step in 0..<Self.steps {
      run.step()
      if let fault = run.fault {
        Issue.record("\(fault) after step \(step) of seed \(seed).")
        return
      }
    }
  }
}

/// A store, and the model of the list of an alias in it.
private struct ListRun {
  private struct Refusal: Error {}

  private struct Open {
    let number: Int
    let change: OptimisticChange
    /// The entities that exist by the change alone.
    let temporaries: [Int]
    /// The entities that the change stores or removes.
    let touched: Set<Int>
  }

  private let store = makeStore()
  private var random: SeededRandom
  private var list = ListModel()
  /// The entities that confirmed changes have inserted.
  private var existing: Set<Int> = []
  private var temporaries: Set<Int> = []
  /// The tentatively removed entities, each with the change that removes it.
  private var removed: [Int: Int] = [:]
  private var changes: [Open] = []
  private var number = 0
  private let received = Received<[Leaf]?>()
  private let subscription: EntityStore.Subscription
  private(set) var fault: String?

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
    subscription = store.find(named: .all).observe { [received] in received.append($0) }
  }

  private mutating func any(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func ids() -> [Int] { (0..<any(4)).map { _ in any(8) } }

  private mutating func someID() -> Int {
    let live = temporaries.sorted()
    return !live.isEmpty && any(3) == 0 ? live[any(live.count)] : any(8)
  }

  mutating func step() {
    switch any(12) {
    case 0..<4: changeConfirmed()
    case 4..<7: begin()
    case 7, 8: end(isConfirmed: any(2) == 0)
    case 9: answer()
    case 10: undo()
    default: removeEntity(someID())
    }
    check()
  }

  private mutating func check() {
    let visible = list.shown?.filter { removed[$0] == nil }
    let shown = store.find(named: .all).value?.map(\.id)
    if shown != visible {
      fault = "The list is \(String(describing: shown)) instead of \(String(describing: visible))"
    }
    let last = received.values.last.flatMap { $0 }?.map(\.id)
    if last != visible {
      fault = "The observer received \(String(describing: last)) instead of \(String(describing: visible))"
    }
  }

  // MARK: Confirmed changes

  private mutating func changeConfirmed() {
    let (kind, ids) = (any(12), ids())
    switch kind {
    case 0, 1:
      _ = store.store(entities: ids.map { Leaf($0) }, named: .all)
      list.replaceBase(by: ids)
      existing.formUnion(ids)
    case 2..<8:
      store.append(entities: ids.map { Leaf($0) }, named: .all)
      list.append(ids)
      existing.formUnion(ids)
    case 8..<11:
      let confirmed = list.confirmed
      let isUpdated = store.update(named: .all) { $0.reverse() }
      if isUpdated != (confirmed != nil) { fault = "An update found another list" }
      if let confirmed { list.replaceBase(by: confirmed.reversed()) }
    default:
      store.removeAlias(named: AliasKey<[Leaf]>.all)
      list = ListModel()
    }
  }

  private mutating func removeEntity(_ id: Int) {
    store.remove(Leaf.self, id: id)
    forget(id)
  }

  private mutating func forget(_ id: Int) {
    existing.remove(id)
    temporaries.remove(id)
    removed[id] = nil
    list.forget(id)
  }

  // MARK: Tentative changes

  private mutating func begin() {
    var edits: [ListModel.Edit] = []
    for _ in 0...any(3) { edits.append(edit()) }
    let candidate = someID()
    let isThere = existing.contains(candidate) || temporaries.contains(candidate)
    let hidden: Int? = isThere && removed[candidate] == nil && any(4) == 0 ? candidate : nil
    let change = store.optimistically { [edits] draft in
      for edit in edits { Self.apply(edit, to: draft) }
      if let hidden { draft.remove(Leaf.self, id: hidden) }
    }
    number += 1
    list.patches += edits.map { ListModel.Patch(change: number, edit: $0) }
    let new = edits.flatMap(\.temporaries).filter { !existing.contains($0) }
    temporaries.formUnion(new)
    if let hidden { removed[hidden] = number }
    let touched = Set(new + edits.flatMap(\.stored) + [hidden].compactMap { $0 })
    changes.append(Open(number: number, change: change, temporaries: new, touched: touched))
  }

  private mutating func edit() -> ListModel.Edit {
    // Two changes could insert the same entity if it were not present.
    let present = existing.filter { removed[$0] == nil }.sorted()
    let kind = present.isEmpty ? 0 : any(9)
    switch kind {
    case 0..<3:
      number += 1
      return .insert([-number], position())
    case 3: return .insert([present[any(present.count)]], position())
    case 4: return .insert([present[any(present.count)], present[any(present.count)]], .last)
    case 5: return .replace(present[any(present.count)], present[any(present.count)])
    case 6: return any(3) == 0 ? .nothing : .stand([present[any(present.count)]])
    default: return .remove(present[any(present.count)])
    }
  }

  /// An entry that the store does not know is none that an edit could follow.
  private mutating func position() -> ListModel.Position {
    let (kind, id) = (any(4), someID())
    let isKnown = existing.contains(id) || temporaries.contains(id)
    switch kind {
    case 0: return .first
    case 1: return .last
    case 2: return isKnown ? .before(id) : .first
    default: return isKnown ? .after(id) : .last
    }
  }

  private static func apply(_ edit: ListModel.Edit, to draft: borrowing OptimisticChange.Draft) {
    switch edit {
    case .insert(let ids, let position):
      guard ids.count == 1 else { return draft.append(entities: ids.map { Leaf($0) }, named: .all) }
      draft.insert(Leaf(ids[0]), at: position.ofStore, named: .all)
    case .remove(let id): draft.removeEntry(id, named: .all)
    case .replace(let id, let other): draft.replaceEntry(id, with: Leaf(other), named: .all)
    case .stand(let ids): draft.store(ids.map { Leaf($0) }, named: .all)
    case .nothing: draft.removeAlias(named: AliasKey<[Leaf]>.all)
    }
  }

  private mutating func takeChange() -> Open? {
    changes.isEmpty ? nil : changes.remove(at: any(changes.count))
  }

  private mutating func end(isConfirmed: Bool) {
    guard let open = takeChange() else { return }
    let live = open.temporaries.filter { temporaries.contains($0) }
    let hidden = removed.filter { $0.value == open.number }.keys
    for id in hidden { removed[id] = nil }
    if isConfirmed {
      open.change.commit()
      list.confirm(open.number)
      temporaries.subtract(live)
      existing.formUnion(live)
      for id in hidden { forget(id) }
    } else {
      open.change.rollback()
      list.takeBack(open.number)
      for id in live { forget(id) }
    }
  }

  /// Commits a change with the server's result.
  private mutating func answer() {
    guard let open = takeChange() else { return }
    let live = open.temporaries.filter { temporaries.contains($0) }
    for id in removed.filter({ $0.value == open.number }).keys { removed[id] = nil }
    number += 1
    if live.count == 1, let temporary = live.first {
      let known = existing.subtracting(open.touched).sorted()
      let id = known.isEmpty || any(2) == 0 ? 1000 + number : known[any(known.count)]
      open.change.commit(replacingWith: Leaf(id))
      if list.inserts(temporary, by: open.number) { list.substitute(temporary, by: id) }
      existing.insert(id)
    } else {
      let answered = live.dropFirst()
      let answers = Dictionary(uniqueKeysWithValues: answered.map { ($0, Leaf(10_000 * number - $0)) })
      open.change.commit(replacing: answers)
      for (temporary, leaf) in answers {
        list.substitute(temporary, by: leaf.id)
        existing.insert(leaf.id)
      }
    }
    list.confirm(open.number)
    for id in live { forget(id) }
  }

  /// Changes of every kind in a transaction that throws: the list is as it was.
  private mutating func undo() {
    let (ids, doomed, open, ending) = (ids(), someID(), changes.randomElement(using: &random), any(4))
    let count = received.count
    try? store.transaction { store throws in
      store.append(entities: ids.map { Leaf($0) }, named: .all)
      let change = store.optimistically { $0.insert(Leaf(-1_000_000), named: .all) }
      if ending == 0 { open?.change.rollback() }
      if ending == 1 { open?.change.commit() }
      if ending == 2 { change.commit(replacingWith: Leaf(2_000_000)) }
      store.remove(Leaf.self, id: doomed)
      store.update(named: .all) { $0.reverse() }
      throw Refusal()
    }
    if received.count != count { fault = "The observer received a rolled-back change" }
  }
}

extension ListModel.Position {
  fileprivate var ofStore: ListPosition<Int> {
    switch self {
    case .first: .first
    case .last: .last
    case .before(let id): .before(id)
    case .after(let id): .after(id)
    }
  }
}

extension ListModel.Edit {
  /// The entities that the edit inserts.
  fileprivate var temporaries: [Int] {
    if case .insert(let ids, _) = self { ids.filter { $0 < 0 } } else { [] }
  }

  /// The entities that the edit stores.
  fileprivate var stored: [Int] {
    if case .stand(let ids) = self { ids } else { [] }
  }
}
