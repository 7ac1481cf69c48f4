import CoherenceIdentityMap
import Foundation
import TestRandom
import Testing

/// Random operations, each checked against plain dictionaries.
///
/// `COHERENCE_IDENTITY_MAP_OPERATIONS` says how many (200,000 otherwise), `COHERENCE_SEED` repeats a run.
@Suite("Random operations against a model")
struct ModelTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let operations = environment["COHERENCE_IDENTITY_MAP_OPERATIONS"].flatMap { Int($0) } ?? 200_000
  private static let seed = SeededRandom.seeds[0]

  @Test func `a random sequence of operations has the same results as plain dictionaries`() {
    print("COHERENCE_SEED=\(Self.seed)")
    var run = ModelRun(seed: Self.seed)
    for step in 0..<Self.operations {
      run.step()
      if step % 1000 == 0 && !run.isConsistent() {
        Issue.record("The store differs from the model after step \(step) of seed \(Self.seed).")
        return
      }
    }
    #expect(run.isConsistent())
    run.letGo()
    #expect(run.isEmpty, "Something is left.")
    #expect(run.livingValues == 0, "Values are left.")
  }
}

/// A store and a model of it: leaves, groups of leaves, and sections of groups.
private struct ModelRun {
  struct Group: Aggregate, Equatable {
    let id: Int
    var name: String
    var first: Leaf
    var leaves: [Leaf]
    var token: Tally?
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.first), .init(\.leaves)] }

    static func == (first: Self, second: Self) -> Bool {
      first.id == second.id && first.name == second.name && first.first == second.first && first.leaves == second.leaves
    }
  }

  struct Section: Aggregate, Equatable {
    let id: Int
    var group: Group?
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.group)] }
  }

  /// The entities that the store is expected to have, by reference.
  struct Model {
    var leaves: [Int: String?] = [:]
    var groups: [Int: (name: String, first: Int, leaves: [Int])] = [:]
    var sections: [Int: Int?] = [:]
  }

  private let store = makeStore()
  private var random: SeededRandom
  private var model = Model()
  private var leaves: [Int: EntityObserver<Leaf>] = [:]
  private var groups: [Int: EntityObserver<Group>] = [:]
  private var sections: [Int: EntityObserver<Section>] = [:]
  private let living = LivingCount()
  private var number = 0

  var livingValues: Int { living.value }

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
  }

  private mutating func any(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func newLeaf() -> Leaf {
    number += 1
    return Leaf(any(40), any(4) == 0 ? "same" : "\(number)")
  }

  private mutating func newGroup() -> Group {
    number += 1
    return Group(
      id: any(15), name: "\(number)", first: newLeaf(), leaves: (0..<any(4)).map { _ in newLeaf() },
      token: Tally(living))
  }

  mutating func step() {
    switch any(21) {
    case 0..<4:
      let leaf = newLeaf()
      note(leaf)
      leaves[leaf.id] = store.store(entity: leaf)
    case 4..<7:
      let group = newGroup()
      note(group)
      groups[group.id] = store.store(entity: group)
    case 7..<9:
      let section = Section(id: any(8), group: any(3) == 0 ? nil : newGroup())
      note(section)
      sections[section.id] = store.store(entity: section)
    case 9..<13:
      updateLeaf()
    case 13: leaves[any(40)] = nil
    case 14: groups[any(15)] = nil
    case 15: sections[any(8)] = nil
    case 16: abort()
    case 17: remove(any(40))
    case 18: optimistic()
    case 19: removeOptimistically(any(40))
    default: aliases()
    }
    dropFromModel()
  }

  private mutating func updateLeaf() {
    let leaf = newLeaf()
    let isThere = model.leaves[leaf.id] != nil
    let isUpdated = store.update(Leaf.self, id: leaf.id) { $0.text = leaf.text }
    if isThere != isUpdated { Issue.record("An update found a missing entity, or missed an existing one.") }
    if isThere { model.leaves[leaf.id] = .some(leaf.text) }
  }

  private mutating func abort() {
    struct Refusal: Error {}
    let (group, leaf, doomed) = (newGroup(), newLeaf(), any(40))
    try? store.transaction { store in
      _ = store.store(entity: group)
      _ = store.store(entity: leaf)
      store.remove(Leaf.self, id: doomed)
      _ = store.store(entities: [group], named: AliasKey("aborted"))
      throw Refusal()
    }
  }

  private mutating func optimistic() {
    let leaf = newLeaf()
    let change = store.optimistically { $0.update(Leaf.self, id: leaf.id) { $0.text = "optimistic" } }
    change.rollback()
  }

  /// Removes a leaf tentatively and stores values below the removal, which is then rolled back or confirmed.
  private mutating func removeOptimistically(_ id: Int) {
    let change = store.optimistically { $0.remove(Leaf.self, id: id) }
    let (wasThere, isConfirmed) = (model.leaves[id] != nil, any(2) == 0)
    if store.find(Leaf.self, id: id) != nil { Issue.record("A removed entity is found.") }
    let other = newLeaf()
    if other.id != id {
      note(other)
      leaves[other.id] = store.store(entity: other)
    }
    if isConfirmed { change.commit() } else { change.rollback() }
    if wasThere, isConfirmed { forget(id) }
  }

  private mutating func aliases() {
    let group = newGroup()
    note(group)
    _ = store.store(entities: [group], named: AliasKey("alias"))
    store.removeAlias(named: AliasKey<[Group]>("alias"))
  }

  private mutating func remove(_ id: Int) {
    store.remove(Leaf.self, id: id)
    forget(id)
  }

  private mutating func forget(_ id: Int) {
    guard model.leaves[id] != nil else { return }
    model.leaves[id] = nil
    for (group, value) in model.groups {
      if value.first == id { removeGroup(group) } else { model.groups[group]?.leaves.removeAll { $0 == id } }
    }
  }

  private mutating func removeGroup(_ id: Int) {
    model.groups[id] = nil
    for (section, group) in model.sections where group == id { model.sections[section] = .some(nil) }
  }

  // MARK: The model

  private mutating func note(_ leaf: Leaf) {
    model.leaves[leaf.id] = .some(leaf.text)
  }

  private mutating func note(_ group: Group) {
    note(group.first)
    for leaf in group.leaves { note(leaf) }
    model.groups[group.id] = (group.name, group.first.id, group.leaves.map(\.id))
  }

  private mutating func note(_ section: Section) {
    if let group = section.group { note(group) }
    model.sections[section.id] = .some(section.group?.id)
  }

  /// Drops unheld entities from the model: an entity needs an observer or a container.
  private mutating func dropFromModel() {
    let (leaves, groups, sections) = (leaves, groups, sections)
    model.sections = model.sections.filter { sections[$0.key] != nil }
    let used = Set(model.sections.values.compactMap { $0 })
    model.groups = model.groups.filter { groups[$0.key] != nil || used.contains($0.key) }
    let needed = Set(model.groups.values.flatMap { [$0.first] + $0.leaves })
    model.leaves = model.leaves.filter { leaves[$0.key] != nil || needed.contains($0.key) }
  }

  private func leaf(_ id: Int) -> Leaf { Leaf(id, model.leaves[id] ?? nil) }

  private func group(_ id: Int) -> Group? {
    model.groups[id].map {
      Group(id: id, name: $0.name, first: leaf($0.first), leaves: $0.leaves.map(leaf), token: nil)
    }
  }

  func isConsistent() -> Bool {
    (0..<40).allSatisfy { store.find(Leaf.self, id: $0)?.value == (model.leaves[$0] == nil ? nil : leaf($0)) }
      && (0..<15).allSatisfy { store.find(Group.self, id: $0)?.value == group($0) }
      && (0..<8).allSatisfy { id in
        store.find(Section.self, id: id)?.value == model.sections[id].map { Section(id: id, group: $0.flatMap(group)) }
      }
  }

  mutating func letGo() {
    leaves = [:]
    groups = [:]
    sections = [:]
  }

  var isEmpty: Bool {
    store.count(of: Leaf.self) + store.count(of: Group.self) + store.count(of: Section.self) == 0
  }
}
