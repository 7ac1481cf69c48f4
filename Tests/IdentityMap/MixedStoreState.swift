import CoherenceIdentityMap

/// A group of leaves and items. Shelves contain groups.
struct MixedGroup: Aggregate, Equatable {
  let id: Int
  var name = ""
  var first: Leaf
  var leaves: [Leaf] = []
  var named: [String: Leaf] = [:]
  var tags: Set<Item> = []
  var wrapper: Wrapper?
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.first), .init(\.leaves), .init(\.named), .init(\.tags), .init(wrapper: \.wrapper)]
  }

  var allLeaves: [Leaf] { [first] + leaves + named.values + [wrapper?.leaf].compactMap { $0 } }
  var allItems: [Item] { tags + [wrapper?.item].compactMap { $0 } }
}

struct MixedShelf: Aggregate, Equatable {
  let id: Int
  var name = ""
  var group: MixedGroup?
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.group)] }
}

/// The visible state of a store.
struct MixedStoreState: Equatable {
  var leaves: [Leaf]
  var items: [Item]
  var groups: [MixedGroup]
  var shelves: [MixedShelf]
  var alias: [MixedGroup]?

  init(_ store: EntityStore) {
    leaves = store.query(Leaf.self, sortedBy: \.id).value
    items = store.query(Item.self, sortedBy: \.id).value
    groups = store.query(MixedGroup.self, sortedBy: \.id).value
    shelves = store.query(MixedShelf.self, sortedBy: \.id).value
    alias = store.find(named: AliasKey<[MixedGroup]>("groups")).value
  }

  init(parts: ([Leaf], [Item], [MixedGroup], MixedShelf?, [MixedGroup]?)) {
    (leaves, items, groups, alias) = (parts.0, parts.1, parts.2, parts.4)
    shelves = [parts.3].compactMap { $0 }
  }

  /// Whether every entity is the same wherever it is seen.
  var isConsistent: Bool {
    let leaves = Dictionary(uniqueKeysWithValues: leaves.map { ($0.id, $0) })
    let items = Dictionary(uniqueKeysWithValues: items.map { ($0.id, $0) })
    let groups = Dictionary(uniqueKeysWithValues: groups.map { ($0.id, $0) })
    return groups.values.allSatisfy { group in
      group.allLeaves.allSatisfy { leaves[$0.id] == $0 } && group.allItems.allSatisfy { items[$0.id] == $0 }
        && group.named.allSatisfy { $0.key == "\($0.value.id)" }
    } && (shelves.compactMap(\.group) + (alias ?? [])).allSatisfy { groups[$0.id] == $0 }
  }
}
