/// The deletes of a context whose delete rules are not applied yet: of objects, and of records without an object.
///
/// Invariant: a delete is in one of the lists from its beginning until its rules are applied, or until it is reverted.
/// While rules are applied, their caller has the deletes, and puts them back if a rule fails.
///
/// Used by the context's owner alone. No function calls code of the user or of the context, because the runtime checks the
/// whole value for overlapping access.
struct PendingDeleteRules {
  /// The deletes of a context, taken for the application of their rules.
  typealias Taken = (objects: [ManagedObject], records: [PendingRecord])

  /// The deleted objects.
  var objects = PendingDeletes()
  /// The records deleted without an object.
  var records: [PendingRecord] = []
  /// The number of deletes of objects so far, by which a loaded list of members knows the deletes since its last check.
  /// The number never decreases.
  private(set) var deleteCount = 0

  /// The identifiers of the deleted records.
  var ids: [ManagedObjectID] { objects.objects.map(\.recordID) + records.map(\.id) }

  /// Adds a deleted object.
  mutating func add(_ object: ManagedObject) {
    objects.append(object)
    deleteCount += 1
  }

  /// Removes a delete that was reverted.
  mutating func remove(_ object: ManagedObject, _ record: PendingRecord) {
    objects.remove(object)
    records.removeAll { $0 === record }
  }

  /// Removes and returns all deletes, for the application of their rules.
  mutating func takeAll() -> Taken {
    defer { records = [] }
    return (objects.takeAll(), records)
  }

  /// Removes and returns the deletes of all records but some, whose rules are applied first.
  mutating func takeAll(except ids: Set<ManagedObjectID>) -> Taken {
    let taken = records.filter { !ids.contains($0.id) }
    records.removeAll { !ids.contains($0.id) }
    return (objects.take { !ids.contains($0.recordID) }, taken)
  }

  /// Puts deletes back, before the later deletes, because the application of their rules has failed or waits. Deletes
  /// that were reverted in the meantime, and those of objects that have left the context, have no rules to apply any
  /// more.
  mutating func putBack(_ taken: Taken) {
    objects.putBack(taken.objects.filter { $0.pending?.kind == .deleted })
    records.insert(contentsOf: taken.records.filter { $0.isTracked && $0.kind == .deleted }, at: 0)
  }
}

extension ContextStorage {
  /// Whether a deleted record still has references and members that its delete rules change.
  var hasPendingDeleteRules: Bool { !pendingRules.objects.isEmpty || !pendingRules.records.isEmpty }
}
