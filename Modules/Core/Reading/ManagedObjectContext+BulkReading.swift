// Bulk reads for other modules: objects, rows and members by identifier.

extension ManagedObjectContext {
  /// Returns the objects of rows that a store returned, in the same order.
  package final func objects(for rows: [Row]) -> [ManagedObject] {
    operating {
      var result: [ManagedObject] = []
      result.reserveCapacity(rows.count)
      objects(for: rows, into: &result)
      awakenLoaded()
      return result
    }
  }

  /// Returns the objects of identifiers. Objects new to the context are loaded together; missing records are left out.
  package final func existingObjects(
    with ids: some Collection<ManagedObjectID>
  ) throws -> [ManagedObjectID: ManagedObject] {
    try operating {
      var result: [ManagedObjectID: ManagedObject] = [:]
      // The given identifiers by the present identifiers, of records without an object.
      var givenIDs: [ManagedObjectID: ManagedObjectID] = [:]
      for id in ids {
        let current = current(id)
        if let object = storage.registry.object(for: current) { result[id] = object } else { givenIDs[current] = id }
      }
      for object in objects(for: try loadRows(Array(givenIDs.keys))) {
        result[givenIDs[object.recordID] ?? object.recordID] = object
      }
      return result
    }
  }

  /// Returns the rows of records with the unsaved changes of this context. Missing records are left out.
  package final func rows(of ids: [ManagedObjectID]) throws -> [ManagedObjectID: Row] {
    try operating {
      var result: [ManagedObjectID: Row] = [:]
      for id in ids {
        if let record = storage.record(for: id) {
          result[id] = record.snapshot
        } else if let row = storage.registry.object(for: id)?.row {
          result[id] = row
        }
      }
      for row in try loadRows(ids.filter { result[$0] == nil }) { result[row.id] = row }
      return result
    }
  }

  /// Returns the members of a to-many relationship of several owners, with the unsaved changes of this context.
  package final func memberIDs(
    of relationship: RelationshipDescription, owners: [ManagedObjectID]
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    try operating {
      var result = try storedMembers(of: relationship, owners: owners, isKeeping: false)
      for id in owners {
        guard let owner = storage.registry.object(for: id), owner.pending?.members[relationship] != nil else {
          continue
        }
        result[id] = try owner.memberIDs(of: relationship)
      }
      return result
    }
  }

  /// Loads a relationship of several objects with few reads for all of them.
  ///
  /// - Returns: The members, which the caller retains while it uses the relationship.
  package final func loadMembers(of name: String, _ objects: [ManagedObject]) throws -> [ManagedObject] {
    try operating { try prefetch(name, of: objects) }
  }

  /// Returns whether the record of a row satisfies a predicate, with the unsaved changes of this context.
  package final func satisfies(_ predicate: PreparedPredicate, _ row: Row) throws -> Bool {
    try operating {
      let state = storage.record(for: row.id).map { RecordState($0) } ?? RecordState(row)
      return try predicate.matches(state, in: ContextRecords(context: self))
    }
  }

  /// Returns whether a row satisfies a predicate with the values of the row, without unsaved changes of its record.
  package final func satisfies(_ predicate: PreparedPredicate, stored row: Row) throws -> Bool {
    try operating { try predicate.matches(RecordState(row), in: ContextRecords(context: self)) }
  }
}
