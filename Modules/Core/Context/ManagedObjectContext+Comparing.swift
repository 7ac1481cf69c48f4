// Records in bulk, without making objects of them.

extension ManagedObjectContext {
  /// Puts the records that a request finds, saved and unsaved, to an expectation. Its order and range are not looked
  /// at. The passed rows are states of records as this context sees them.
  ///
  /// - Throws: As ``fetch(_:)``, and what the expectation throws.
  package final func compare<R: ManagedObject>(_ request: FetchRequest<R>, with expectation: any RowExpectation) throws
  {
    try operating {
      let screen = ExpectationScreen(expectation)
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        let plan = try FetchPlan(request, in: self)
        if plan.needsOverlay { screen.unsaved = try unsavedStates(for: plan) }
        for store in plan.stores { try compare(plan, in: store, with: screen) }
        let source = ContextRecords(context: self)
        for state in screen.unsaved.present where plan.includes(state.entity) {
          if try plan.predicate?.matches(state, in: source) != false { try expectation.put(state.row) }
        }
      } as: { _ in
        .fetch(records: screen.count)
      }
    }
  }

  private final func compare(
    _ plan: FetchPlan, in store: any PersistentStore, with expectation: any RowExpectation
  ) throws {
    var query = plan.query
    query.sortKeys = []
    query.limit = nil
    query.offset = 0
    if plan.dependsOnUnsaved {
      query.predicate = nil
    } else if let reader = try reader(for: store) as? any RowComparing {
      if try reader.compare(query, with: expectation) { return }
    }
    let source = ContextRecords(context: self)
    try forEachRow(query, prepared: plan.dependsOnUnsaved ? nil : plan.predicate, in: store) { rows in
      for row in rows {
        if plan.dependsOnUnsaved, try plan.predicate?.matches(RecordState(row), in: source) == false { continue }
        try expectation.put(row)
      }
    }
  }

  /// The objects of rows that ``compare(_:with:)`` handed out, in the same order.
  package final func objects(for rows: [Row]) -> [ManagedObject] {
    operating {
      var result: [ManagedObject] = []
      result.reserveCapacity(rows.count)
      objects(for: rows, into: &result)
      return result
    }
  }

  /// The objects of identifiers, those that the context does not have loaded together. Missing records are left out.
  package final func existingObjects(
    with ids: some Collection<ManagedObjectID>
  ) throws -> [ManagedObjectID: ManagedObject] {
    try operating {
      var result: [ManagedObjectID: ManagedObject] = [:]
      var missing: [ManagedObjectID] = []
      for id in ids {
        if let object = storage.registry.object(for: current(id)) { result[id] = object } else { missing.append(id) }
      }
      for object in objects(for: try loadRows(missing)) { result[object.id] = object }
      return result
    }
  }

  /// The states of records, as this context sees them. Missing records are left out.
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

  /// The members of a to-many relationship of several owners, as this context sees them.
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

  /// Whether the record of a row that ``compare(_:with:)`` handed out satisfies a predicate, in this context's eyes.
  package final func satisfies(_ predicate: PreparedPredicate, _ row: Row) throws -> Bool {
    try operating {
      let state = storage.record(for: row.id).map { RecordState($0) } ?? RecordState(row)
      return try predicate.matches(state, in: ContextRecords(context: self))
    }
  }

  /// Whether a row that the stores have satisfies a predicate, whatever this context has changed of the record.
  package final func satisfies(_ predicate: PreparedPredicate, stored row: Row) throws -> Bool {
    try operating { try predicate.matches(RecordState(row), in: ContextRecords(context: self)) }
  }
}

/// Keeps records with unsaved changes, whose stored state does not count, from an expectation. Counts the others.
private final class ExpectationScreen: RowExpectation {
  private let expectation: any RowExpectation
  let keySlots: [Int]
  // Safety of `@exclusivity(unchecked)`: one reading uses the screen, and no callee of an access knows the screen.
  @exclusivity(unchecked) var unsaved = UnsavedStates()
  @exclusivity(unchecked) private(set) var count = 0

  init(_ expectation: any RowExpectation) {
    self.expectation = expectation
    keySlots = expectation.keySlots
  }

  var expectedValues: [AttributeValue?] { expectation.expectedValues }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict {
    if unsaved.hides(id) { return .pass }
    count += 1
    if count % 1024 == 0, Task.isCancelled {
      throw CoherenceError(.cancelled, "The task was cancelled while it read.")
    }
    return try expectation.verdict(on: id, key: key)
  }

  func take(_ row: Row) throws { try expectation.take(row) }
}
