// The unsaved records that overlay the rows of a fetch.

/// The unsaved records of a context and its parents that a fetch may find, and the identifiers of the rows that they
/// replace.
struct UnsavedStates {
  /// The records by identifier; `nil` for a deleted record.
  fileprivate var states: [ManagedObjectID: RecordState?] = [:]
  /// The context to ask about records without a state here; `nil` if the states are complete.
  fileprivate var context: ManagedObjectContext?
  /// The greatest number of rows that unsaved records may replace.
  fileprivate(set) var replacedCount = 0

  /// The identifiers of saved records without unsaved changes of their own, whose match depends on unsaved changes of
  /// other records.
  fileprivate(set) var dependents: Set<ManagedObjectID> = []

  /// The records without deleted records, in any order.
  var present: some Sequence<RecordState> { states.values.lazy.compactMap { $0 } }

  /// The identifiers of the saved records whose rows are replaced; `nil` if the states are incomplete.
  var replacedIDs: [ManagedObjectID]? { context == nil ? states.keys.filter { !$0.isTemporaryID } : nil }

  /// Whether no row is replaced.
  var isEmpty: Bool { states.isEmpty && context == nil }

  /// Whether the row of a record is replaced, because the record has unsaved changes or depends on those of others.
  func replaces(_ id: ManagedObjectID) -> Bool {
    if isEmpty { return false }
    return states[id] != nil || context?.hasUnsavedRecord(id) == true
  }
}

extension ManagedObjectContext {
  /// Returns the unsaved records for a plan, and the plan's dependent records. With many unsaved records, and a
  /// predicate that requires values of an attribute or targets of a to-one relationship, ``UnsavedIndex`` finds the
  /// records with these values, and the result is incomplete.
  ///
  /// - Parameters:
  ///   - isComplete: Whether the result must have all unsaved records. A stream needs this, because an incomplete
  ///     result asks the context about further records later, and so depends on later changes.
  ///   - findsByTarget: Whether the index may find records by targets too. Otherwise only required values of attributes
  ///     make the result incomplete.
  final func unsavedStates(
    for plan: FetchPlan, isComplete: Bool = false, findsByTarget: Bool = true
  ) throws -> UnsavedStates {
    let count = unsavedCount
    var unsaved = UnsavedStates()
    // An incomplete result raises the limit of the query by all unsaved records, and a target may have very many rows.
    let includesTargets = findsByTarget && plan.query.limit == nil
    let wanted =
      !isComplete && count > UnsavedIndex.threshold ? plan.wantedValues(includingTargets: includesTargets) : []
    if !wanted.isEmpty, !isAnyParentBehind {
      unsaved.context = self
      unsaved.replacedCount = count
      unsaved.states = try states { storage in storage.unsavedRecords(of: plan.root, with: wanted) }
    } else {
      unsaved.states = try states { storage in
        storage.records.filter { $0.entity.root === plan.root && !$0.isUnchanged }
      }
      unsaved.replacedCount = unsaved.states.keys.count { !$0.isTemporaryID }
    }
    for (id, state) in plan.dependents where !hasUnsavedRecord(id) {
      unsaved.states[id] = state
      unsaved.dependents.insert(id)
    }
    unsaved.replacedCount += unsaved.dependents.count
    return unsaved
  }

  /// Whether a parent has not applied all saves in its inbox. The present values of its unsaved records may then differ
  /// from the values in its index, and the index would miss records.
  private final var isAnyParentBehind: Bool {
    var ancestor = readParent
    while let context = ancestor {
      if context.inbox.hasUnapplied { return true }
      ancestor = context.parent
    }
    return false
  }

  /// The number of unsaved records of this context and its parents.
  private final var unsavedCount: Int {
    var count = 0
    var context: ManagedObjectContext? = self
    while let current = context {
      count += current.storage.withPending { current.storage.unsaved.count }
      context = current.parent(readBy: self)
    }
    return count
  }

  /// Returns the states of unsaved records of this context and its parents. The nearest context decides about a record.
  ///
  /// - Parameter choose: Returns records of a context. Called under the context's lock.
  private final func states(
    choose: (ContextStorage) -> [PendingRecord]
  ) throws -> [ManagedObjectID: RecordState?] {
    var result: [ManagedObjectID: RecordState?] = [:]
    for record in storage.withPending({ choose(storage) }) {
      result[record.id] = .some(record.kind == .deleted ? nil : RecordState(record))
    }
    var inherited: [InheritedRecord] = []
    var ancestor = readParent
    while let context = ancestor {
      let storage = context.storage
      // Before the records are read: the parent may apply its inbox at any time.
      let isBehind = context.inbox.hasUnapplied
      let records = storage.withPending { choose(storage).map(InheritedRecord.init) }
      // A nearer context may have a state of the record that `choose` left out. This state still replaces the parent's.
      for record in records where result[record.row.id] == nil && !hasUnsavedRecord(record.row.id, below: context) {
        result[record.row.id] = .some(nil)
        if !record.isDeleted { inherited.append(isBehind ? markedAsBehind(record, from: context) : record) }
      }
      ancestor = context.parent
    }
    for row in try rows(of: inherited) { result[row.id] = RecordState(row) }
    return result
  }

  /// Whether this context or a parent, up to a given one, has unsaved changes of a record.
  fileprivate final func hasUnsavedRecord(_ id: ManagedObjectID, below end: ManagedObjectContext? = nil) -> Bool {
    var context: ManagedObjectContext? = self
    while let current = context, current !== end {
      let storage = current.storage
      if storage.withPending({ storage.recordUnderLock(for: id).map { !$0.isUnchanged } ?? false }) { return true }
      context = current.parent(readBy: self)
    }
    return false
  }
}

extension FetchPlan {
  fileprivate var root: EntityDescription { query.entity.root }

  /// The values that the predicate requires: a record must have one of the values in each of the slots. Empty if the
  /// predicate requires no value by equality, and for a plan that depends on unsaved changes of other records, for
  /// which the context evaluates every record.
  fileprivate func wantedValues(includingTargets: Bool) -> [WantedValues] {
    guard !dependsOnUnsaved, let predicate = predicate?.predicate else { return [] }
    var wanted: [WantedValues] = []
    for (path, values) in predicate.requirements where path.names.count == 1 {
      let name = path.names[0]
      if let attribute = query.entity.attribute(named: name) {
        // A fractional number equals values of other types, which the index keeps apart.
        guard values.allSatisfy(attribute.type.hasOnly) else { continue }
        wanted.append(WantedValues(slot: attribute.slot, values: values))
      } else if includingTargets, let slot = query.entity.relationship(named: name)?.slot {
        // Very many records may have no target, so that the index would not narrow the search.
        guard !values.contains(where: \.isNull) else { continue }
        wanted.append(WantedValues(slot: slot, values: values))
      }
    }
    return wanted
  }
}
