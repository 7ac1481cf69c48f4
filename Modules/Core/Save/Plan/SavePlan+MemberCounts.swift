extension SavePlan {
  /// The owners that gain or lose members of a relationship with bounds.
  ///
  /// Fresh owners are left out, because no other writer can give them members and the context's validation is exact;
  /// deleted owners too.
  var memberCounts: [MemberCountCheck] {
    var owners = BoundedOwners()
    for group in unit.inserts.groups {
      for bound in group.entity.checked.boundedOwners {
        for row in group.rows { owners.note(row, bound.slot, bound.inverse) }
      }
    }
    for change in updates {
      for bound in change.entity.checked.boundedOwners where change.changed.contains(bound.slot) {
        owners.note(change.base, bound.slot, bound.inverse)
        owners.note(change.row, bound.slot, bound.inverse)
      }
    }
    for group in unit.deletes.groups {
      for bound in group.entity.checked.boundedOwners {
        for change in group.changes { owners.note(change.base, bound.slot, bound.inverse) }
      }
    }
    owners.note(unit.links)
    guard !owners.isEmpty else { return [] }
    owners.remove(absentOwners)
    return owners.checks
  }

  /// The keys of records that the save deletes, and of those that it inserts for the first time, by hierarchy.
  private var absentOwners: [ObjectIdentifier: Set<Int64>] {
    var absent: [ObjectIdentifier: Set<Int64>] = [:]
    for group in unit.inserts.groups + unit.deletes.groups {
      // A record that a merge policy puts back has a base: others may have changed its members.
      let keys = group.changes.filter { $0.kind == .deleted || $0.base == nil }.map(\.id.key)
      absent[ObjectIdentifier(group.entity.root), default: []].formUnion(keys)
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
