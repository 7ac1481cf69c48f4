import CoherenceCore

extension NotebookContent {
  /// Applies the steps of a save.
  ///
  /// - Throws: ``StoreConflict/Failure`` with every record whose version differs from the save's base version.
  mutating func apply(_ request: StoreSaveRequest, _ environment: StoreEnvironment, _ spaces: IDSpaces) throws {
    let conflicts = try request.bases.filter { self[$0.id.entity, $0.id.key]?.version != $0.version }.map { base in
      let note = self[base.id.entity, base.id.key]
      return StoreConflict(
        id: base.id, storeRow: try note.map { try row($0, key: base.id.key, environment, spaces) })
    }
    guard conflicts.isEmpty else { throw StoreConflict.Failure(conflicts: conflicts) }
    for step in request.steps { try apply(step) }
  }

  private mutating func apply(_ step: SaveStep) throws {
    switch step {
    case .unlink(let table, let removed):
      for link in removed { links[table.name]?[Ends(link)] = nil }
    case .fix(_, let slots, let rows):
      for row in rows { write(slots, of: row, version: nil) }
    case .delete(let entity, let deletes):
      for delete in deletes { self[entity, delete.id.key] = nil }
    case .insert(_, let rows):
      for row in rows { try insert(row) }
    case .update(_, let slots, let updates):
      for update in updates { write(slots, of: update.row, version: update.row.version) }
    case .link(let table, let added):
      for link in added { put(link, into: table.name) }
    }
  }

  /// Inserts a link, or sets the positions of an existing link.
  private mutating func put(_ link: Link, into table: String) {
    var link = link
    if let known = links[table]?[Ends(link)] {
      link.sourcePosition = link.sourcePosition ?? known.sourcePosition
      link.targetPosition = link.targetPosition ?? known.targetPosition
    }
    links[table, default: [:]][Ends(link)] = link
  }

  private mutating func insert(_ row: Row) throws {
    let root = row.entity.root
    guard self[root, row.key] == nil else {
      throw CoherenceError(.storeCorrupt, "A fresh record of '\(row.entity.name)' has a key that is taken.")
    }
    self[root, row.key] = Note(row)
    lastKeys[root.name] = max(lastKeys[root.name, default: 0], row.key)
  }

  /// Writes some slots of a record. A missing record is skipped, because the versions have been compared before.
  private mutating func write(_ slots: SlotSet, of row: Row, version: Int64?) {
    guard var note = self[row.entity, row.key] else { return }
    for slot in slots { note[slot, of: row.entity] = row[slot] }
    note.version = version ?? note.version
    self[row.entity, row.key] = note
  }
}

extension StoreSaveRequest {
  /// The base versions of the save: its records, with the versions that the store must still have.
  fileprivate var bases: [(id: ManagedObjectID, version: Int64)] {
    steps.flatMap { step -> [(id: ManagedObjectID, version: Int64)] in
      switch step {
      case .update(_, _, let updates): updates.map { ($0.row.id, $0.baseVersion) }
      case .delete(_, let deletes): deletes.map { ($0.id, $0.baseVersion) }
      case .insert, .fix, .link, .unlink: []
      }
    }
  }
}
