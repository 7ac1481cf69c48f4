// Unsaved records, as fetches see them.

/// What a context and its parents have not saved of a hierarchy, as far as a fetch may find or hide it.
struct UnsavedStates {
  /// By identifier; `nil` for deleted records.
  fileprivate var states: [ManagedObjectID: RecordState?] = [:]
  /// The context to ask about records without a state here; `nil` when the states are complete.
  fileprivate var context: ManagedObjectContext?
  /// How many rows of a store may be hidden.
  fileprivate(set) var hiddenCount = 0

  /// The records not deleted, in any order.
  var present: some Sequence<RecordState> { states.values.lazy.compactMap { $0 } }

  /// Whether no row of a store is hidden.
  var isEmpty: Bool { states.isEmpty && context == nil }

  /// Whether the row of a store does not count, because the record has unsaved changes.
  func hides(_ id: ManagedObjectID) -> Bool {
    if isEmpty { return false }
    return states[id] != nil || context?.hasUnsavedRecord(id) == true
  }
}

extension ManagedObjectContext {
  /// The unsaved states that a fetch has to consider: for a predicate with wanted values, the states of the records
  /// with these values.
  final func unsavedStates(for plan: FetchPlan) throws -> UnsavedStates {
    let count = unsavedCount
    var unsaved = UnsavedStates()
    if count > UnsavedIndex.threshold, let wanted = plan.wantedValues, !isAnyParentBehind {
      unsaved.context = self
      unsaved.hiddenCount = count
      unsaved.states = try states { storage in
        storage.unsavedRecords(of: plan.root, at: wanted.slot, among: wanted.values)
      }
    } else {
      unsaved.states = try states { storage in
        storage.records.filter { $0.entity.root === plan.root && !$0.isVoid }
      }
      unsaved.hiddenCount = unsaved.states.keys.count { !$0.isTemporaryID }
    }
    return unsaved
  }

  /// Whether a parent did not take in yet what others saved, so that its records may have other values than it has noted.
  private final var isAnyParentBehind: Bool {
    var ancestor = parent
    while let context = ancestor {
      if !context.inbox.isEmpty { return true }
      ancestor = context.parent
    }
    return false
  }

  /// How many records this context and its parents have not saved.
  private final var unsavedCount: Int {
    var count = 0
    var context: ManagedObjectContext? = self
    while let current = context {
      count += current.storage.withPending { current.storage.recordCount }
      context = current.parent
    }
    return count
  }

  /// - Parameter choose: Chooses records of a context, under its lock.
  private final func states(
    choose: (ContextStorage) -> [PendingRecord]
  ) throws -> [ManagedObjectID: RecordState?] {
    var result: [ManagedObjectID: RecordState?] = [:]
    for record in storage.withPending({ choose(storage) }) {
      result[record.id] = .some(record.kind == .deleted ? nil : RecordState(record))
    }
    var inherited: [InheritedRecord] = []
    var ancestor = parent
    while let context = ancestor {
      let storage = context.storage
      let records = storage.withPending { choose(storage).map(InheritedRecord.init) }
      // A record that this context has changed otherwise hides the parent's state, too.
      for record in records where result[record.row.id] == nil && !hasUnsavedRecord(record.row.id, below: context) {
        result[record.row.id] = .some(nil)
        if !record.isDeleted { inherited.append(marked(record, from: context)) }
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
      if storage.withPending({ storage.recordUnderLock(for: id).map { !$0.isVoid } ?? false }) { return true }
      context = current.parent
    }
    return false
  }
}

extension FetchPlan {
  fileprivate var root: EntityDescription { query.entity.root }

  /// The slot in which a record must have one of some values to be found; `nil` when the predicate does not say so, or
  /// compares otherwise than by equality.
  fileprivate var wantedValues: (slot: Int, values: [AttributeValue])? {
    guard !dependsOnUnsaved, let predicate = predicate?.predicate else { return nil }
    for (path, values) in predicate.requirements {
      guard path.names.count == 1, let attribute = query.entity.attribute(named: path.names[0]),
        values.allSatisfy(attribute.type.hasOnly)
      else { continue }
      return (attribute.slot, values)
    }
    return nil
  }
}
