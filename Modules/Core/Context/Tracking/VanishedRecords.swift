/// The records that other writers have deleted, or may have deleted, while the context has objects or changes of them.
///
/// Invariant: a record without unsaved changes leaves ``edited`` with the next save.
///
/// Used by the context's owner alone.
struct VanishedRecords {
  /// The records that a load did not find. The next processing of the inbox detaches their objects, or finds the
  /// records again.
  var missing: Set<ManagedObjectID> = []
  /// The records that other writers have deleted while this context had unsaved changes of them.
  var edited: Set<ManagedObjectID> = []

  var isEmpty: Bool { missing.isEmpty && edited.isEmpty }
}

extension ContextStorage {
  /// Notes that a record exists. Another writer may have restored it after its delete.
  func noteExisting(_ id: ManagedObjectID) {
    if !vanished.edited.isEmpty { vanished.edited.remove(id) }
  }

  /// Removes the records without unsaved changes from ``VanishedRecords/edited``. Called after a save.
  func forgetDeletesOfCleanRecords() {
    guard !vanished.edited.isEmpty else { return }
    vanished.edited = vanished.edited.filter { record(for: $0) != nil }
  }
}
