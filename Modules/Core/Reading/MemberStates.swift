/// The unsaved changes that a context and its parents have made to an owner's member list. The nearest context decides
/// about a record.
struct MemberStates {
  /// Whether a record is a member, for each added or removed record.
  private(set) var isMemberByID: [ManagedObjectID: Bool] = [:]
  /// Whether a parent has changes of the list.
  private(set) var areInherited = false
  /// Whether a context has changed the order of the members.
  private(set) var areReordered = false
  /// Whether a parent has deleted records that may be members. The parent's list has them until its delete rules are
  /// applied.
  private(set) var mayBeDeleted = false

  init(of relationship: RelationshipDescription, owner: ManagedObjectID, in context: ManagedObjectContext) {
    var next: ManagedObjectContext? = context
    while let current = next {
      let storage = current.storage
      storage.withPending {
        if storage.mayListNonmembers(relationship) { addRecordsLeftOut(storage, relationship, owner) }
        if current !== context, storage.hasDeletes, storage.hasUnsavedRecords(of: relationship.destination.root) {
          mayBeDeleted = true
        }
        guard let changes = storage.recordUnderLock(for: owner)?.members[relationship], !changes.isEmpty else { return }
        add(changes)
        areInherited = areInherited || current !== context
      }
      next = current.parent(readBy: context)
    }
  }

  /// Whether no context has changes of the list.
  var isEmpty: Bool { isMemberByID.isEmpty && !areReordered && !mayBeDeleted }
  /// The number of added records.
  var addedCount: Int { isMemberByID.values.count { $0 } }
  /// The added and removed records with permanent identifiers.
  var savedIDs: [ManagedObjectID] { isMemberByID.keys.filter { !$0.isTemporaryID } }

  /// Adds a context's changes of the list, except of records about which a nearer context has decided.
  private mutating func add(_ changes: MemberChanges) {
    for id in changes.added where isMemberByID[id] == nil { isMemberByID[id] = true }
    for id in changes.removed where isMemberByID[id] == nil { isMemberByID[id] = false }
    if !changes.keepsPositions { areReordered = true }
  }

  /// Adds the records that a context has deleted or moved, although the list of the store may have them as members.
  private mutating func addRecordsLeftOut(
    _ storage: ContextStorage, _ relationship: RelationshipDescription, _ owner: ManagedObjectID
  ) {
    let root = relationship.destination.root
    for id in storage.movedRecords where id.entity.root === root && isMemberByID[id] == nil {
      if storage.isLeftOut(storage.recordUnderLock(for: id), of: relationship, owner: owner) {
        isMemberByID[id] = false
      }
    }
    guard relationship.inverse == nil, storage.hasDeletes else { return }
    for record in storage.records where record.kind == .deleted && record.entity.root === root && !record.isUnchanged {
      isMemberByID[record.id] = false
    }
  }
}
