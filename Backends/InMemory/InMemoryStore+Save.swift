import CoherenceCore

extension InMemoryStore: RelationshipDeriving {
  func save(_ request: StoreSaveRequest) throws { try save(request, derived: { _, _ in }) }

  func save(_ request: StoreSaveRequest, derived committed: (StateChange?, [Row]) -> Void) throws {
    let content = try writableContent()
    let derived = try content.change { state in
      let conflicts = state.conflicts(with: request)
      guard conflicts.isEmpty else { throw StoreConflict.Failure(conflicts: conflicts) }
      var transaction = InMemoryTransaction(state)
      for step in request.steps { try transaction.apply(step) }
      var next = try transaction.finished()
      try request.checkMemberCounts(in: spaces) { relationship, owner in
        next.row(owner, of: relationship.entity.root).map { next.memberCount(of: relationship, from: $0) }
      }
      let derived = try next.derive(request.derivations)
      state = next
      // An insert may have keys that this content did not allocate, and must not allocate later.
      for (root, key) in request.lastInsertedKeys { content.retireKeys(through: key, of: root) }
      return derived
    }
    content.signals.signal(request.signals)
    // Without states: the coordinator caches no rows of a store in memory.
    committed(nil, derived)
  }
}

extension InMemoryState {
  /// The conflicts of a save: its updated and deleted records whose rows have other versions than the base versions, or
  /// are missing.
  fileprivate func conflicts(with request: StoreSaveRequest) -> [StoreConflict] {
    request.steps.flatMap { step -> [StoreConflict] in
      switch step {
      case .update(let entity, _, let updates):
        updates.compactMap { conflict(at: $0.row.id, of: entity, baseVersion: $0.baseVersion) }
      case .delete(let entity, let deletes):
        deletes.compactMap { conflict(at: $0.id, of: entity, baseVersion: $0.baseVersion) }
          + conflicts(overLinksOf: deletes, entity, in: request)
      case .insert, .fix, .link, .unlink: []
      }
    }
  }

  /// The conflicts of deleted records with links that the save does not remove, see ``StoreSaveRequest/comparedLinks``.
  private func conflicts(
    overLinksOf deletes: [RowDelete], _ entity: EntityDescription, in request: StoreSaveRequest
  ) -> [StoreConflict] {
    request.comparedSides(of: entity).flatMap { side -> [StoreConflict] in
      guard var remaining = links[side.table] else { return [] }
      for case .unlink(side.table, let links) in request.steps {
        for link in links { remaining.remove(source: link.source, target: link.target) }
      }
      return deletes.compactMap { delete in
        guard !remaining.links(of: delete.id.key, fromSource: side.isSource).isEmpty,
          let stored = row(delete.id.key, of: entity.root), stored.version == delete.baseVersion
        else { return nil }
        return StoreConflict(id: delete.id, storeRow: stored)
      }
    }
  }

  private func conflict(at id: ManagedObjectID, of entity: EntityDescription, baseVersion: Int64) -> StoreConflict? {
    let stored = row(id.key, of: entity.root)
    return stored?.version == baseVersion ? nil : StoreConflict(id: id, storeRow: stored)
  }
}

extension StoreSaveRequest {
  /// The highest key of each insert, with the root of the insert's entity.
  fileprivate var lastInsertedKeys: [(root: EntityDescription, key: Int64)] {
    steps.compactMap { step in
      guard case .insert(let entity, let rows) = step, let key = rows.map(\.key).max() else { return nil }
      return (entity.root, key)
    }
  }
}
