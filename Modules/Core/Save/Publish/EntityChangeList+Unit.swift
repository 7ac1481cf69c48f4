extension EntityChangeList {
  /// Adds the changes of a committed unit of work. The unit's records must still be unsaved.
  mutating func add(_ unit: UnitOfWork) {
    for group in unit.rows.inserts { add(group.rows.lazy.map(\.id), of: group.entity, as: .inserted) }
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
    for (id, relationships) in unit.links.owners where !changedIDs.contains(id) {
      if let entity = id.space.rows.row(id.key)?.entity {
        add(CollectionOfOne(id), of: entity, as: .updated)
      } else if let entity = relationships.first?.entity {
        add(CollectionOfOne(id), of: entity, as: .updated, includesSubentities: !entity.subentities.isEmpty)
      }
    }
  }
}
