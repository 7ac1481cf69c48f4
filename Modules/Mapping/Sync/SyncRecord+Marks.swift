import CoherenceCore

extension SyncRecord {
  /// Marks the record as uploaded, so that the server has the record.
  func markAsUploaded() throws {
    isUploaded = true
    try setKnownToServer()
  }

  /// Marks the record as deleted, for the upload of the deletion. Deletes a record that the server never had.
  func markAsDeleted(in context: ManagedObjectContext) throws {
    guard try mayBeKnownToServer() else {
      // The delete rule of another record has deleted this one.
      if isDeleted { return }
      try markCascadeTargets(in: context)
      return context.delete(self)
    }
    wasDeleted = true
    isUploaded = false
  }

  /// Marks the records that the rule ``DeleteRule/cascade`` would delete with this one and that the server may have, and
  /// takes them out of the relationships that lead to them: their deletions have to be uploaded. A record that requires
  /// its owner is left alone.
  private func markCascadeTargets(in context: ManagedObjectContext) throws {
    var visited: Set<ManagedObjectID> = [objectID]
    var unvisited: [ManagedObject] = [self]
    while let owner = unvisited.popLast() {
      for relationship in owner.entity.relationships where relationship.mayDeleteKnownRecords {
        let targets = try owner.targets(of: relationship)
        var others: [ManagedObject] = []
        for target in targets {
          guard !relationship.isNeededByTargets, let record = target as? any SyncRecord,
            try record.mayBeKnownToServer()
          else {
            others.append(target)
            continue
          }
          if !record.wasDeleted { try record.markAsDeleted(in: context) }
        }
        unvisited += others.filter { visited.insert($0.objectID).inserted }
        if others.count < targets.count { try owner.setTargets(others, of: relationship) }
      }
    }
  }
}

extension ManagedObjectContext {
  /// Loads the members that ``SyncRecord/markAsDeleted(in:)`` reads of records which the server never had, with few
  /// reads for all of them.
  ///
  /// - Returns: The members, which the caller retains while it marks the records.
  func loadCascadeTargets<Record: SyncRecord>(of records: [Record]) throws -> [ManagedObject] {
    var owners: [EntityDescription: [ManagedObject]] = [:]
    for record in records where try !record.mayBeKnownToServer() { owners[record.entity, default: []].append(record) }
    var members: [ManagedObject] = []
    for (entity, group) in owners {
      for relationship in entity.relationships where relationship.isToMany && relationship.mayDeleteKnownRecords {
        members += try loadMembers(of: relationship.name, group)
      }
    }
    return members
  }

  /// Marks records as deleted; see ``SyncRecord/markAsDeleted(in:)``.
  func markAsDeleted<Record: SyncRecord>(_ records: [Record]) throws {
    let members = try loadCascadeTargets(of: records)
    try withExtendedLifetime(members) {
      for record in records { try record.markAsDeleted(in: self) }
    }
  }
}

extension RelationshipDescription {
  /// Whether cascades over the relationship may delete records with synchronisation marks.
  fileprivate var mayDeleteKnownRecords: Bool {
    deleteRule == .cascade
      && destination.reachesByCascades { entity in
        entity.concreteEntities.contains { $0.objectClass is any SyncRecord.Type }
      }
  }

  /// Whether the targets cannot leave the relationship, because their relationship back is required.
  fileprivate var isNeededByTargets: Bool { inverse.map { !$0.isToMany && !$0.isOptional } ?? false }
}
