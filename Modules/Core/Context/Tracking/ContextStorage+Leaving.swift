extension ContextStorage {
  /// Removes an object that leaves the context, so that no lookup finds it any more.
  func unregister(_ object: ManagedObject) {
    retainedReads.removeTarget(object)
    registry.remove(object, id: object.recordID)
  }

  /// Removes the records without unsaved changes from ``deletedWhileEdited``. Called after a save.
  func forgetDeletesOfCleanRecords() {
    guard !deletedWhileEdited.isEmpty else { return }
    deletedWhileEdited = deletedWhileEdited.filter { record(for: $0) != nil }
  }
}
