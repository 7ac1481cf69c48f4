package import CoherenceCore

/// Keeps the records of the input that a delete rule would delete together with a superfluous record. The input has these
/// records, and may have no value for the relationship that leads to them.
package struct CascadeTargets {
  private let rows: StoredRows
  private let inputByKey: InputIndex

  /// - Parameters:
  ///   - rows: The stored rows of the entity of the input.
  ///   - inputByKey: The input records by their keys.
  package init(_ rows: StoredRows, inputByKey: InputIndex) {
    self.rows = rows
    self.inputByKey = inputByKey
  }

  /// Takes the records of the input out of the relationships with the rule ``DeleteRule/cascade`` of records that will be
  /// deleted. Called before the deletions, and after updates of relationships, which may give records of the input other
  /// owners.
  package func release(from deleted: [ManagedObject]) throws {
    let deletedIDs = Set(deleted.map(\.objectID))
    for (entity, owners) in Dictionary(grouping: deleted, by: \.entity) {
      for relationship in entity.relationships
      where relationship.deleteRule == .cascade && relationship.destination.root === rows.entity.root {
        let targets = try targets(of: relationship, from: owners)
        let kept = try inputRecords(among: Set(targets.values.joined()).subtracting(deletedIDs))
        guard !kept.isEmpty else { continue }
        for owner in owners where !kept.isDisjoint(with: targets[owner.objectID] ?? []) {
          try release(kept, from: owner, relationship)
        }
      }
    }
  }

  /// The targets of a relationship, with the unsaved changes of the context, by owner.
  private func targets(
    of relationship: RelationshipDescription, from owners: [ManagedObject]
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    if relationship.isToMany { return try rows.context.memberIDs(of: relationship, owners: owners.map(\.objectID)) }
    var targets: [ManagedObjectID: [ManagedObjectID]] = [:]
    for owner in owners {
      if let target = try owner.object(for: relationship.name) { targets[owner.objectID] = [target.objectID] }
    }
    return targets
  }

  /// The records whose key a record of the input has.
  private func inputRecords(among ids: Set<ManagedObjectID>) throws -> Set<ManagedObjectID> {
    var found: Set<ManagedObjectID> = []
    for (id, row) in try rows.context.rows(of: Array(ids)) where row.entity.isKind(of: rows.entity) {
      let key = rows.keyAttributes.map { row[$0.slot] }
      if !key.isIncompleteKey, try inputByKey.index(of: key) != nil { found.insert(id) }
    }
    return found
  }

  private func release(
    _ kept: Set<ManagedObjectID>, from owner: ManagedObject, _ relationship: RelationshipDescription
  ) throws {
    guard relationship.isToMany else { return try owner.setObject(nil, for: relationship.name) }
    let others = try owner.objects(for: relationship.name).filter { !kept.contains($0.objectID) }
    try owner.setObjects(others, for: relationship.name)
  }
}
