// The same change of a link by this context and by another writer. The store has the change, so that the context has
// nothing to save.

extension ManagedObjectContext {
  /// Drops the unsaved additions and removals of links that a save of another writer has made too. Reads no store; the
  /// cost follows the unsaved changes of the owners that the save names.
  ///
  /// An edit that the context has made after the beginning of the save stays, because it may revert a change that a still
  /// later save has made. Edits of ordered relationships stay, because the version of the owner's row tells about their
  /// conflicts.
  ///
  /// - Returns: The relationships of both sides of the links. The caller invalidates their lists.
  final func forgetConfirmedLinks(in changes: ChangeSet) -> Set<RelationshipDescription> {
    guard let saved = changes.links, storage.unsaved.count > 0 else { return [] }
    var lists: Set<RelationshipDescription> = []
    for (owner, relationships) in changes.relinked {
      guard let record = storage.record(for: owner), record.kind == .updated, record.hasMembers,
        let store = owner.storeIdentifier, let links = saved[store]
      else { continue }
      for relationship in relationships where (record.members[relationship]?.time ?? .max) < saved.number {
        let confirmed = record.links(of: relationship, confirmedBy: links).filter {
          isUndecidedInParents($0, of: relationship, owner)
        }
        guard !confirmed.isEmpty else { continue }
        forget(confirmed, of: relationship, record)
        lists.insert(relationship)
        if let inverse = relationship.inverse { lists.insert(inverse) }
      }
    }
    return lists
  }

  /// Whether no parent has an unsaved change of a link. A context's change of such a link is made on the parent's change.
  private final func isUndecidedInParents(
    _ member: ManagedObjectID, of relationship: RelationshipDescription, _ owner: ManagedObjectID
  ) -> Bool {
    ancestors.allSatisfy { context in
      let storage = context.storage
      return storage.withPending {
        storage.recordUnderLock(for: owner)?.members[relationship]?.contains(member) == nil
      }
    }
  }

  /// Drops the changes of links at both of their records.
  private final func forget(
    _ members: [ManagedObjectID], of relationship: RelationshipDescription, _ record: PendingRecord
  ) {
    storage.withPending {
      for id in members {
        record.members[relationship]?.forgetMove(of: id)
        guard let inverse = relationship.inverse, let partner = storage.recordUnderLock(for: id) else { continue }
        partner.members[inverse]?.forgetMove(of: record.id)
      }
    }
    storage.touch(record.id)
    for id in members { storage.touch(id) }
  }
}

extension PendingRecord {
  /// The members of an unordered relationship whose addition or removal is among the links of a save.
  fileprivate func links(
    of relationship: RelationshipDescription, confirmedBy links: LinkChanges
  ) -> [ManagedObjectID] {
    guard case .links(let table, let isForward) = relationship.storage, !relationship.isOrdered,
      relationship.inverse?.isOrdered != true, let edits = members[relationship]
    else { return [] }
    let store = id.storeIdentifier
    func link(to member: ManagedObjectID) -> Link {
      isForward ? Link(source: id.key, target: member.key) : Link(source: member.key, target: id.key)
    }
    // A temporary identifier has no store, and a key of another store may be equal.
    let added = edits.added.filter { $0.storeIdentifier == store && links.adds(link(to: $0), to: table) }
    let removed = edits.removed.filter { $0.storeIdentifier == store && links.removes(link(to: $0), from: table) }
    return added + removed
  }
}
