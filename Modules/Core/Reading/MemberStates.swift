/// The unsaved changes of an owner's member list, of a context and its parents. The nearest context decides about a
/// record.
struct MemberStates {
  /// Whether a record is a member, for each record that a change names.
  private(set) var states: [ManagedObjectID: Bool] = [:]
  /// Whether a parent has changes of the list.
  private(set) var areInherited = false
  /// Whether a context has put the members in another order.
  private(set) var areReordered = false

  init(of relationship: RelationshipDescription, owner: ManagedObjectID, in context: ManagedObjectContext) {
    var next: ManagedObjectContext? = context
    while let current = next {
      let storage = current.storage
      storage.withPending {
        // Without an inverse, no rule removes a deleted member from the list.
        if relationship.inverse == nil, storage.hasDeletes { addDeletes(storage, relationship) }
        guard let changes = storage.recordUnderLock(for: owner)?.members[relationship], !changes.isEmpty else { return }
        add(changes)
        areInherited = areInherited || current !== context
      }
      next = current.parent(readBy: context)
    }
  }

  var isEmpty: Bool { states.isEmpty && !areReordered }
  /// The number of members among the named records.
  var memberCount: Int { states.values.count { $0 } }
  /// The named records that a store may have.
  var saved: [ManagedObjectID] { states.keys.filter { !$0.isTemporaryID } }

  private mutating func add(_ changes: MemberChanges) {
    for id in changes.added where states[id] == nil { states[id] = true }
    for id in changes.removed where states[id] == nil { states[id] = false }
    if !changes.keepsPositions { areReordered = true }
  }

  private mutating func addDeletes(_ storage: ContextStorage, _ relationship: RelationshipDescription) {
    let root = relationship.destination.root
    for record in storage.records where record.kind == .deleted && record.entity.root === root && !record.isUnchanged {
      states[record.id] = false
    }
  }
}
