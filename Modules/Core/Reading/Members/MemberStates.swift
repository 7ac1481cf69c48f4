/// The unsaved changes that a context and its parents have made to an owner's member list. The nearest context decides
/// about a record.
struct MemberStates {
  /// Whether a record is a member, for each added or removed record.
  private(set) var isMemberByID: [ManagedObjectID: Bool] = [:]
  /// Whether a parent has changes of the list.
  private(set) var areInherited = false
  /// Whether a context has changed the order of the members.
  private(set) var areReordered = false
  /// The deleted and moved records that contexts leave out of the list without an edit of the list, see
  /// ``ContextStorage/mayListNonmembers(_:)``.
  private(set) var leftOutIDs: Set<ManagedObjectID> = []
  /// Whether a parent has deleted records that may be members. The parent's list has them until its delete rules are
  /// applied.
  private(set) var mayBeDeleted = false

  init(of relationship: RelationshipDescription, owner: ManagedObjectID, in context: ManagedObjectContext) {
    var next: ManagedObjectContext? = context
    var nearer: [ContextStorage] = []
    while let current = next {
      let storage = current.storage
      let changes = storage.withPending { () -> MemberChanges? in
        if storage.mayListNonmembers(relationship) { addRecordsLeftOut(storage, relationship, owner) }
        if current !== context, storage.unsaved.hasDeletes, storage.hasUnsavedRecords(of: relationship.destination.root)
        {
          mayBeDeleted = true
        }
        return storage.recordUnderLock(for: owner)?.members[relationship]
      }
      if let changes, !changes.isEmpty {
        let moved = nearer.map { storage in
          storage.withPending { storage.moved(changes.added, from: owner, of: relationship) }
        }
        add(changes, besides: moved)
        areInherited = areInherited || current !== context
      }
      next = current.parent(readBy: context)
      // Most contexts have no parent, and need no array.
      if next != nil { nearer.append(storage) }
    }
  }

  /// Whether no context has changes of the list.
  var isEmpty: Bool { isMemberByID.isEmpty && !areReordered && !mayBeDeleted }
  /// Whether the list has no changes but the records that contexts leave out.
  var onlyLeavesOut: Bool { !leftOutIDs.isEmpty && leftOutIDs.count == isMemberByID.count }
  /// The number of added records.
  var addedCount: Int { isMemberByID.values.count { $0 } }
  /// The added and removed records with permanent identifiers.
  var savedIDs: [ManagedObjectID] { isMemberByID.keys.filter { !$0.isTemporaryID } }

  /// Adds a context's changes of the list, except of records about which a nearer context has decided.
  ///
  /// - Parameter moved: The added records that nearer contexts have moved to other owners.
  private mutating func add(_ changes: MemberChanges, besides moved: [Set<ManagedObjectID>]) {
    for id in changes.added where isMemberByID[id] == nil {
      isMemberByID[id] = !moved.contains { $0.contains(id) }
    }
    for id in changes.removed where isMemberByID[id] == nil { isMemberByID[id] = false }
    if !changes.keepsPositions { areReordered = true }
  }

  /// Adds the records that a context has deleted or moved, although the list of the store may have them as members.
  /// Stops at so many records that no count of the store can exclude them.
  private mutating func addRecordsLeftOut(
    _ storage: ContextStorage, _ relationship: RelationshipDescription, _ owner: ManagedObjectID
  ) {
    let root = relationship.destination.root
    for id in storage.unsaved.movedRecords where id.entity.root === root && isMemberByID[id] == nil {
      guard storage.isLeftOut(storage.recordUnderLock(for: id), of: relationship, owner: owner) else { continue }
      leaveOut(id)
      if isMemberByID.count > FetchExecution.greatestExclusion { return }
    }
    guard relationship.inverse == nil, storage.unsaved.hasDeletes else { return }
    for record in storage.records where record.kind == .deleted && record.entity.root === root && !record.isUnchanged {
      leaveOut(record.id)
      if isMemberByID.count > FetchExecution.greatestExclusion { return }
    }
  }

  private mutating func leaveOut(_ id: ManagedObjectID) {
    isMemberByID[id] = false
    leftOutIDs.insert(id)
  }
}
