package import CoherenceCore

// The conflicts of a refused save, looked up after the save was rolled back.

extension StoreSaveRequest {
  /// The records that the save changes or deletes, with the versions on which the save is based.
  package var bases: [(id: ManagedObjectID, version: Int64)] { steps.flatMap(\.bases) }

  /// The conflicts of the save: its records whose versions in the store are not those that the save is based on.
  ///
  /// - Parameter row: Returns the present row of a record; `nil` for a deleted record.
  package func conflicts(_ row: (ManagedObjectID) throws -> Row?) rethrows -> [StoreConflict] {
    var conflicts: [StoreConflict] = []
    for (id, version) in bases {
      let stored = try row(id)
      if stored?.version != version { conflicts.append(StoreConflict(id: id, storeRow: stored)) }
    }
    return conflicts
  }
}

extension SaveStep {
  /// The records that the step expects at a version.
  fileprivate var bases: [(id: ManagedObjectID, version: Int64)] {
    switch self {
    case .update(_, _, let updates): updates.map { ($0.row.id, $0.baseVersion) }
    case .delete(_, let deletes): deletes.map { ($0.id, $0.baseVersion) }
    case .insert, .fix, .link, .unlink: []
    }
  }
}

extension StoreConflict.Failure {
  /// Makes the failure of a save from the conflicts that the store has now or, without any, from those that the save
  /// met.
  ///
  /// - Parameters:
  ///   - conflicts: The conflicts with the present rows.
  ///   - found: The records that the save itself found at another version.
  ///   - row: Returns the present row of a record; `nil` for a deleted record.
  package init(
    conflicts: [StoreConflict], found: [ManagedObjectID], _ row: (ManagedObjectID) throws -> Row?
  ) rethrows {
    var conflicts = conflicts
    if conflicts.isEmpty {
      // The version was restored between the save and this read. The version that the save found is still a conflict.
      for id in found { conflicts.append(StoreConflict(id: id, storeRow: try row(id))) }
    }
    self.init(conflicts: conflicts)
  }
}
