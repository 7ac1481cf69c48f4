extension SavePlan {
  /// The checks of member counts that the store makes at the end of the save: of owners that gain or lose members of a
  /// relationship with a minimum or maximum count.
  ///
  /// Fresh owners are left out, because no other writer can give them members and the context's validation is exact.
  /// Deleted owners are left out too.
  var memberCounts: [MemberCountCheck] {
    var owners = BoundedOwners()
    for group in changes.inserts {
      for bound in group.entity.checked.boundedOwners {
        for row in group.rows { owners.note(row, bound.slot, bound.inverse) }
      }
    }
    for group in changes.updates {
      for bound in group.entity.checked.boundedOwners where group.slots.contains(bound.slot) {
        for base in group.bases { owners.note(base, bound.slot, bound.inverse) }
        for update in group.updates { owners.note(update.row, bound.slot, bound.inverse) }
      }
    }
    for group in changes.deletes {
      for bound in group.entity.checked.boundedOwners {
        for base in group.bases { owners.note(base, bound.slot, bound.inverse) }
      }
    }
    owners.note(changes.links)
    guard !owners.isEmpty else { return [] }
    owners.remove(absentOwners)
    return owners.checks
  }

  /// The keys of the records that the save deletes or inserts for the first time, by hierarchy.
  private var absentOwners: [ObjectIdentifier: Set<Int64>] {
    var absent: [ObjectIdentifier: Set<Int64>] = [:]
    for group in changes.inserts {
      let keys = Set(group.rows.lazy.map(\.key)).subtracting(group.restoredKeys)
      absent[ObjectIdentifier(group.entity.root), default: []].formUnion(keys)
    }
    for group in changes.deletes {
      absent[ObjectIdentifier(group.entity.root), default: []].formUnion(group.deletes.lazy.map(\.id.key))
    }
    return absent
  }
}

/// Owners whose members change, by relationship.
private struct BoundedOwners {
  private var keys: [RelationshipDescription: Set<Int64>] = [:]

  var isEmpty: Bool { keys.isEmpty }

  mutating func note(_ row: Row?, _ slot: Int, _ relationship: RelationshipDescription) {
    if case .reference(let owner)? = row?[slot] { keys[relationship, default: []].insert(owner.key) }
  }

  mutating func note(_ links: LinkChanges) {
    for table in Set(links.added.keys).union(links.removed.keys) {
      let backward = table.backward.flatMap { $0.isBounded ? $0 : nil }
      guard table.forward.isBounded || backward != nil else { continue }
      for end in Array(links.added[table, default: [:]].keys) + links.removed[table, default: []] {
        if table.forward.isBounded { keys[table.forward, default: []].insert(end.source) }
        if let backward { keys[backward, default: []].insert(end.target) }
      }
    }
  }

  mutating func remove(_ absent: [ObjectIdentifier: Set<Int64>]) {
    for relationship in keys.keys {
      keys[relationship]?.subtract(absent[ObjectIdentifier(relationship.entity.root)] ?? [])
    }
  }

  /// One check for each relationship, in the model's order.
  var checks: [MemberCountCheck] {
    keys.filter { !$0.value.isEmpty }
      .sorted { ($0.key.entity.position, $0.key.name) < ($1.key.entity.position, $1.key.name) }
      .map { MemberCountCheck($0.key, owners: $0.value.sorted()) }
  }
}
