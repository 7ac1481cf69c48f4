// The objects in use under a pinned snapshot.

extension ManagedObjectContext {
  /// Gives the objects in use the rows of the pinned state, with one read for each hierarchy and store. Objects of
  /// detached stores stay as they are.
  ///
  /// - Throws: Errors of the stores.
  final func loadPinnedState(of stores: [any PersistentStore]) throws {
    let objects = storage.registry.all
    guard !objects.isEmpty || storage.unsaved.count > 0 else { return }
    forgetFailures(of: objects)
    // The lists may be of another state than the pinned one.
    for object in objects { object.collections = nil }
    storage.invalidateAllLists()
    let identifiers = Set(stores.map(\.identifier))
    func isAttached(_ id: ManagedObjectID) -> Bool { id.storeIdentifier.map(identifiers.contains) == true }
    let ids = objects.compactMap { object in
      object.pending == nil && object.row != nil && isAttached(object.recordID) ? object.recordID : nil
    }
    let gone = setRows(try loadRows(ids), of: ids)
    for id in gone { removeDeletedElsewhere(id) }
    forgetMembers(gone)
    refreshRows(of: storage.records.filter { isAttached($0.id) })
    storage.withPending { storage.noteLinksOfDeleted() }
    awakenLoaded()
  }

  /// Gives objects without unsaved changes their rows of the pinned state.
  ///
  /// - Returns: The records without a row.
  private final func setRows(_ rows: [Row], of ids: [ManagedObjectID]) -> Set<ManagedObjectID> {
    var gone = Set(ids)
    for row in rows {
      gone.remove(row.id)
      guard let object = storage.registry.object(for: row.id), object.pending == nil, let oldRow = object.row else {
        continue
      }
      if oldRow.version != row.version {
        noteRefreshed(object)
      } else if oldRow.hasSameValues(as: row) {
        // The buffer that the context has already, perhaps shared with other contexts, is kept.
        continue
      }
      object.row = row
    }
    return gone
  }

  /// Forgets that accessors could not load objects, for example under an expired snapshot. Lost changes stay reported.
  private final func forgetFailures(of objects: [ManagedObject]) {
    for object in objects where object.flags.contains(.unavailable) {
      object.flags.remove(.unavailable)
      if storage.reports.report(of: object.recordID)?.losesChange == false { storage.reports.remove(object.recordID) }
    }
  }
}

extension Row {
  /// Whether both rows are of one entity and have equal values.
  fileprivate func hasSameValues(as other: Row) -> Bool {
    if isIdentical(to: other) { return true }
    return entity === other.entity && count == other.count && (0..<count).allSatisfy { self[$0] == other[$0] }
  }
}
