/// The records that an update has to evaluate.
struct DueRecords {
  let unsaved: UnsavedHierarchies
  /// The records to evaluate, with as much of their states as the changes contain. Records that only lead to changed
  /// records are among them.
  var states: [ManagedObjectID: KnownState] = [:]
  /// The records with changes of properties that neither the predicate nor the order reads, with the greatest known
  /// versions of their rows; zero for unknown rows.
  private(set) var refreshed: [ManagedObjectID: Int64] = [:]
  /// Whether every listed record may have such changes.
  var refreshesAll = false
  /// The changed records at the ends of paths, by the index of the path.
  var targets: [Int: Set<ManagedObjectID>] = [:]
  /// Whether the request must be run again, because the affected records are unknown.
  var runsAgain = false

  init(unsaved: UnsavedHierarchies) { self.unsaved = unsaved }

  /// Adds a record with a change of such a property.
  mutating func refresh(_ id: ManagedObjectID, version: Int64?) {
    refreshed[id] = max(refreshed[id] ?? 0, version ?? 0)
  }

  mutating func add(_ record: StoreChanges.Record, isUncertain: Bool) {
    if isUncertain {
      states[record.id] = .unread
    } else if record.kind == .deleted {
      states[record.id] = .gone
    } else {
      states[record.id] = record.row.map { .row($0) } ?? .unread
    }
  }
}
