/// The unsaved changes of one record in one context.
///
/// The context's owner changes it under the context's `pendingLock`. The owner reads it without the lock, child
/// contexts with the lock.
final class PendingRecord {
  enum Kind { case inserted, updated, deleted }

  // The fields that bulk work uses for every record come first, to share cache lines, and have no runtime check of
  // overlapping access.
  // Safety of `@exclusivity(unchecked)`: one thread at a time is inside of the context, and its accesses follow each other.
  // Safety of `unowned(unsafe)`: entities live as long as the process.
  @exclusivity(unchecked) var id: ManagedObjectID
  unowned(unsafe) let entity: EntityDescription
  @exclusivity(unchecked) var kind: Kind
  /// Whether the context tracks the record as unsaved; `false` after a save or a rollback, and without a context.
  @exclusivity(unchecked) var isTracked = false
  /// The ``ChangeNotifications/round`` in which the record was last listed among the unposted changes.
  @exclusivity(unchecked) var round: UInt32 = 0
  /// Whether an earlier ``ChangeNotifications/round`` has listed the record too.
  @exclusivity(unchecked) var wasListed = false
  /// Whether notifications leave the record out, because its change was dropped, or is reported by other means.
  @exclusivity(unchecked) var isSilent = false
  /// Whether the context's ``UnsavedIndex`` has the record by its present values.
  @exclusivity(unchecked) var isIndexed = false
  /// The values as the context sees them. A save writes this buffer as the row.
  @exclusivity(unchecked) private(set) var draft: Row
  /// The object. Retained, because a context retains changed objects. `nil` for a record that a cascade deletes without
  /// an object, until the object is needed.
  @exclusivity(unchecked) var object: ManagedObject?
  /// The permanent identifier reserved for a new record. A failed save keeps the reservation.
  @exclusivity(unchecked) var reservedID: ManagedObjectID?
  /// The members added to and removed from to-many relationships.
  @exclusivity(unchecked) var members: [RelationshipDescription: MemberChanges] = [:]
  /// The state on which the changes are based; `nil` for a record without a state in any store or parent.
  @exclusivity(unchecked) var base: Row?
  /// The slots whose values differ from the base, and equal slots whose edits a merge rule combines.
  @exclusivity(unchecked) var changed = SlotSet()
  /// The edits that saves of other writers have overtaken. The next save reports them as a conflict.
  @exclusivity(unchecked) var overtaken: OvertakenEdits?
  /// Whether a refresh has made the present state the base of all edits. An edit made over a parent's unsaved edit then
  /// does not conflict with earlier saves of the property.
  @exclusivity(unchecked) var hasAcceptedBase = false
  /// The latest version of the record that a child context has read before its edit; 0 for none. Of a delete, the version
  /// that the deleting child has read.
  @exclusivity(unchecked) var versionReadByChild: Int64 = 0
  /// Whether the store may have the new record already, with the reserved key: a save failed, and its outcome is unknown.
  @exclusivity(unchecked) var mayBeStored = false
  /// Whether another writer has deleted the record, and the record has left the context for this reason.
  @exclusivity(unchecked) var isDeletedElsewhere = false
  /// For a record without a context: the related objects, which are inserted together with this record's object.
  var uninsertedGraph: UninsertedGraph?
  /// The store that the user assigned to a new record.
  var assignedStore: StoreIdentifier?
  /// The default values of a new record, and assignments outside of ``changed``; `nil` for neither.
  var initialState: InitialState?

  /// Makes the record of a new object.
  init(inserting id: ManagedObjectID, _ draft: Row) {
    self.id = id
    entity = draft.entity
    kind = .inserted
    self.draft = draft
  }

  /// Makes a record without changes, based on a saved row.
  init(changing base: Row) {
    id = base.id
    entity = base.entity
    kind = .updated
    self.base = base
    draft = Row(draftOf: base)
  }

  /// Makes the record of a delete, which writes no value: the draft is the saved row itself.
  init(deleting base: Row) {
    id = base.id
    entity = base.entity
    kind = .deleted
    self.base = base
    draft = base
  }

  /// Whether the record marks a delete without an object.
  var isBareDelete: Bool { kind == .deleted && object == nil && isTracked }

  /// Whether the record has no changes to save.
  var isUnchanged: Bool { kind == .updated && changed.isEmpty && members.allSatisfy(\.value.isEmpty) }

  /// Whether only the record's positions in ordered lists of other records change.
  var changesPositionsOnly: Bool {
    kind == .updated && !changed.isEmpty && !hasMembers
      && changed.allSatisfy { if case .position = entity.slots[$0] { true } else { false } }
  }

  /// Whether the members or the order of an ordered relationship are changed. Such a list is a value of the record.
  var changesLists: Bool {
    hasMembers && kind == .updated && members.contains { $0.key.isOrdered && !$0.value.isEmpty }
  }

  /// Whether a save writes the draft.
  var isWritten: Bool { kind == .inserted || (kind == .updated && (!changed.isEmpty || changesLists)) }

  /// The version on which a save of the record is based: the base's version, or an older version on which an overtaken
  /// edit or a change of a list is based. The store has a later version in the second case, and reports the conflict.
  var baseVersion: Int64 {
    let version = min(base?.version ?? 0, overtaken?.version ?? .max)
    guard changesLists else { return version }
    return members.reduce(version) { version, entry in
      guard entry.key.isOrdered, !entry.value.isEmpty, let origin = entry.value.origin else { return version }
      return min(version, origin.version)
    }
  }

  /// Makes the present base the ancestor of changes of ordered lists.
  func restartLists() {
    guard let version = base?.version else { return }
    for relationship in Array(members.keys) where relationship.isOrdered {
      members[relationship]?.move(toVersion: version, keepingMembers: false)
    }
  }

  /// Whether members of to-many relationships were added or removed.
  var hasMembers: Bool { !members.isEmpty }

  /// Whether targets or members of relationships were set, added or removed.
  var hasRelatedEdits: Bool {
    hasMembers || entity.referenceSlots.contains { base == nil ? draft[$0] != .null : changed.contains($0) }
  }

  /// The targets of references and the added members.
  var partners: [ManagedObjectID] {
    let targets = entity.referenceSlots.compactMap { slot -> ManagedObjectID? in
      if case .reference(let id) = draft[slot] { id } else { nil }
    }
    return targets + members.values.flatMap(\.added)
  }

  /// Whether no store has reserved a key for the record.
  var needsKey: Bool { kind == .inserted && reservedID == nil && id.isTemporaryID }

  /// The identifier of the record in its store; temporary until a key is reserved.
  var permanentID: ManagedObjectID { reservedID ?? id }

  /// The value of a slot as the context sees it.
  @inline(__always) subscript(slot: Int) -> AttributeValue { draft[slot] }

  /// Writes a slot and records whether its value differs from the base.
  @inline(__always) func set(_ value: consuming AttributeValue, at slot: Int) {
    noteValue(value, at: slot).pointee = value
  }

  /// Records whether a value differs from the base, and returns the address for the value in the draft. The caller
  /// writes the value at once. For a caller that counts no reference to the record.
  @inline(__always) func noteValue(_ value: AttributeValue, at slot: Int) -> UnsafeMutablePointer<AttributeValue> {
    if base == nil || differsFromBase(value, at: slot) {
      changed.insert(slot)
    } else {
      changed.remove(slot)
      if overtaken != nil { forgetOvertaken(at: slot) }
    }
    if isIndexed { leaveIndex() }
    return draft.address(at: slot)
  }

  /// Drops the overtaken edit of a slot after a revert of the edit.
  @inline(never) private func forgetOvertaken(at slot: Int) {
    overtaken?.forget(slot)
    if overtaken?.isEmpty == true { overtaken = nil }
  }

  @inline(never) private func leaveIndex() {
    isIndexed = false
    object?.storage?.noteUnindexed(self)
  }

  private func differsFromBase(_ value: AttributeValue, at slot: Int) -> Bool {
    base.map { $0[slot] != value } ?? true
  }

  /// Writes a slot without changing whether the slot counts as changed.
  func replace(_ value: AttributeValue, at slot: Int) {
    draft.set(value, at: slot)
    if isIndexed { leaveIndex() }
  }

  /// Replaces former identifiers of referenced records in the draft and in the base. Returns whether the draft changed.
  func replaceReferences(_ permanentIDs: [ManagedObjectID: ManagedObjectID]) -> Bool {
    var isReferring = false
    for slot in entity.referenceSlots {
      if case .reference(let id) = draft[slot], let permanent = permanentIDs[id] {
        replace(.reference(permanent), at: slot)
        isReferring = true
      }
      if case .reference(let id)? = base?[slot], let permanent = permanentIDs[id] {
        base?.set(.reference(permanent), at: slot)
      }
    }
    return isReferring
  }

  /// The values as a row with a buffer of its own, at the base's version.
  var snapshot: Row { Row.make(id: id, entity: entity, version: base?.version ?? 0, values: draft.values) }

  /// Turns the draft into the row to write. The buffer is shared from then on: a later change copies it.
  func seal(as id: ManagedObjectID, version: Int64) { draft.seal(id: id, version: version) }

  /// The draft as the row to write.
  func sealed(as id: ManagedObjectID, version: Int64) -> Row {
    seal(as: id, version: version)
    return draft
  }

  /// Whether a slot is a position in the list of an owner, and the context has changed that owner. The slot of the
  /// reference to the owner precedes the slot of the position.
  private func isPositionOfOwnReference(_ slot: Int) -> Bool {
    guard slot > 0, changed.contains(slot - 1), case .position = entity.slots[slot] else { return false }
    return true
  }

  /// Replaces the base with a newer row and keeps the context's own edits.
  ///
  /// - Parameter combined: The slots whose edits stay edits even if the row has the edited value.
  func rebase(onto row: Row, combining combined: SlotSet = SlotSet()) {
    for slot in 0..<draft.count where !changed.contains(slot) && !isPositionOfOwnReference(slot) {
      draft.set(row[slot], at: slot)
    }
    base = row
    for slot in changed where row[slot] == draft[slot] && !combined.contains(slot) {
      changed.remove(slot)
      if overtaken != nil { forgetOvertaken(at: slot) }
    }
    if isIndexed { leaveIndex() }
  }
}
