extension EntityChangeList {
  /// Adds the changes of a committed unit of work. The unit's records must still be unsaved.
  mutating func add(_ unit: UnitOfWork) {
    for group in unit.rows.inserts {
      let restored = group.restoredKeys
      guard !restored.isEmpty else {
        add(group.rows.lazy.map(\.id), of: group.entity, as: .inserted)
        continue
      }
      add(group.rows.filter { !restored.contains($0.key) }.map(\.id), of: group.entity, as: .inserted)
      add(restored: group.rows.filter { restored.contains($0.key) }.map(\.id), of: group.entity)
    }
    let updates = Dictionary(grouping: unit.updates) { ObjectIdentifier($0.entity) }.values
    for group in updates.sorted(by: { $0[0].entity.position < $1[0].entity.position }) {
      add(group.lazy.map(\.id), of: group[0].entity, as: .updated)
    }
    for group in unit.rows.deletes { add(group.deletes.lazy.map(\.id), of: group.entity, as: .deleted) }
    addOwners(of: unit)
  }

  /// Adds the records whose only change is a link changed from the other side.
  private mutating func addOwners(of unit: UnitOfWork) {
    guard !unit.links.owners.isEmpty else { return }
    let changedIDs = Set(unit.changes.map(\.id))
    var owners: [RelationshipDescription: [ManagedObjectID]] = [:]
    for (id, relationships) in unit.links.owners where !changedIDs.contains(id) {
      if let relationship = relationships.first { owners[relationship, default: []].append(id) }
    }
    for (relationship, ids) in owners { add(owners: ids, of: relationship) }
  }

  /// Adds the owners to which inserted rows refer, as owners with a new member.
  mutating func add(ownersOf rows: [Row], of entity: EntityDescription) {
    for list in entity.listsDerivedFromRows {
      guard let slot = list.inverse?.slot else { continue }
      var owners: Set<ManagedObjectID> = []
      for row in rows {
        if case .reference(let owner) = row[slot] { owners.insert(owner) }
      }
      add(owners: owners, of: list)
    }
  }

  /// Adds the owners of changed members as updated records, in one step for each entity: a step passes over the records
  /// added before.
  private mutating func add(owners ids: some Sequence<ManagedObjectID>, of relationship: RelationshipDescription) {
    for (known, owners) in Dictionary(grouping: ids, by: { $0.space.rows.row($0.key)?.entity }) {
      if let known {
        add(owners, of: known, as: .updated)
      } else {
        let entity = relationship.entity
        add(owners, of: entity, as: .updated, includesSubentities: !entity.subentities.isEmpty)
      }
    }
  }
}
