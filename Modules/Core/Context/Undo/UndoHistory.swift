/// The undoable and redoable changes of a context.
///
/// ```swift
/// let history = UndoHistory()
/// context.undoHistory = history
/// track.title = "So What"
/// try history.undo()
/// ```
/// The changes of one group are undone together. A group ends with the outermost `perform` of the context, and in a
/// main-queue context with the turn of the main queue. It ends earlier at a save, and at ``undo()`` and ``redo()``.
/// ``beginGroup(named:)`` and ``endGroup()`` join several blocks in one group. In a context that belongs to a thread,
/// groups only end at saves, at undos, and at ``endGroup()``.
///
/// The history records the user's changes of values and relationships, inserts and deletes, the changes that delete
/// rules and inverse relationships add, and the saves of child contexts. It does not record changes by other writers,
/// by batch requests, and by hooks and participants during a save.
///
/// An undo is an ordinary unsaved change of the context: observers are notified, and ``redo()`` reverts it. It leaves
/// an attribute that its group has set back, and, unless the group deletes records, a relation that its group has
/// removed and added again; relations of ordered relationships and of relationships without an inverse are restored.
/// The history survives saves: the undo of a saved change is a new edit of the saved record, and the undo of a saved
/// delete inserts the same object as a new record, with another identifier. An undo skips records that other writers
/// have deleted, and clears references to them; it does not bring back a record that another writer has deleted too,
/// and inserts no record that exists again: the record keeps its values and gets its links back. A record leaves the
/// list of an owner, and loses the reference of a partner in a one-to-one relationship, that another writer has given
/// it since. A rollback and a reset of the context remove all groups. A save in which an inserted record becomes a
/// stored record, see ``MergePolicy``, removes the insert and its values from the history. A later undo leaves the
/// stored record, and reverts the changes of other records that lead to it. The undo of an unsaved edit of an attribute
/// that another writer has saved since shows that writer's value.
///
/// The history retains the objects of its groups. Recording costs some tens of nanoseconds for each change; the first
/// change of an ordered relationship in a group reads the list, and the group keeps a copy, some 16 bytes for each member.
/// An undo costs as much as the changes, and for an ordered relationship some hundreds of nanoseconds for each member of
/// the list. With many small groups over a long ordered list, set a ``groupLimit``.
///
/// To be used inside its context. Any other use ends the process with a sentence.
public final class UndoHistory {
  /// The greatest number of groups to undo; `nil` for no limit. Beyond the limit the earliest group is removed.
  public var groupLimit: Int? {
    didSet {
      check()
      trim()
    }
  }

  /// The context of the history; `nil` before the history is set, and after another history replaced it.
  weak var context: ManagedObjectContext?

  private var undoGroups: [UndoGroup] = []
  private var redoGroups: [UndoGroup] = []
  /// The group of the present changes, not closed yet. During an undo, the group for the redo.
  private var current = UndoGroup()
  /// The number of nested groups begun by ``beginGroup(named:)``.
  private var depth = 0
  /// The number of running blocks whose changes are not recorded.
  private var pauses = 0
  private var isReverting = false
  /// Whether the block that ends the group with the main queue's turn is scheduled.
  private var awaitsTurn = false
  /// Whether a turn has ended without its group, because the delete rules could not be applied. The next change awaits
  /// the end of its turn again.
  private var isOverdue = false
  /// The objects that an undo inserted again, and the objects of records that exist again without an undo, by the
  /// identifiers of their deleted records.
  ///
  /// Only the identifiers in steps are looked up, and in a child those of the records that inserted objects of steps
  /// replace. The others are removed when the number of entries has reached
  /// ``pruningCount``, so that it stays below twice the needed ones or the size of the groups, or below 64.
  private(set) var reinserted: [ManagedObjectID: ManagedObject] = [:]
  /// The keys of ``reinserted`` whose records exist again beside objects that redos have deleted again.
  private(set) var existing: Set<ManagedObjectID> = []
  private var pruningCount = UndoHistory.firstPruningCount
  private static let firstPruningCount = 64

  /// Makes a history without changes; set it as the ``ManagedObjectContext/undoHistory`` of a context. A history
  /// belongs to one context at a time.
  public init(groupLimit: Int? = nil) { self.groupLimit = groupLimit }

  // MARK: Undo and redo

  /// Whether the history has a change to undo, in a closed group or in the present one. To be used inside the context.
  public var canUndo: Bool {
    check()
    return !undoGroups.isEmpty || !current.isEmpty
  }

  /// Whether the history has an undone change to redo. A newly recorded change removes all undone changes.
  public var canRedo: Bool {
    check()
    return !redoGroups.isEmpty
  }

  /// The name of the group that ``undo()`` reverts; `nil` without a group or a name.
  public var undoName: String? {
    check()
    return current.isEmpty ? undoGroups.last?.name : current.name
  }

  /// The name of the group that ``redo()`` restores; `nil` without a group or a name.
  public var redoName: String? {
    check()
    return redoGroups.last?.name
  }

  /// Reverts the last group of changes. Does nothing without a group. Reads the records of unloaded objects. A group
  /// whose changes cancel each other has no effect to revert and leaves nothing to redo.
  ///
  /// - Throws: ``ErrorCode/illegalState`` in an open group and without a context; errors of the store. The context is as
  ///   before then, and the history has the same changes to undo and redo. The group of the present changes may have
  ///   ended nevertheless, so that later changes begin another group.
  public func undo() throws {
    // The rules of a delete in a detached store wait. They are changes of the group that this undo reverts.
    try revert(\.undoGroups, addingTo: \.redoGroups) { try $0.applyReadableDeleteRules() }
  }

  /// Restores the changes of the last undo with an effect. Does nothing without an undo.
  ///
  /// - Throws: As ``undo()``.
  public func redo() throws {
    try revert(\.redoGroups, addingTo: \.undoGroups) { try $0.applyPendingDeleteRules() }
  }

  private typealias Stack = ReferenceWritableKeyPath<UndoHistory, [UndoGroup]>

  /// Reverts the last group of a stack, and adds the group of the reverting changes to the opposite stack.
  ///
  /// - Parameter completeGroup: Applies the delete rules of the present group.
  private func revert(
    _ stack: Stack, addingTo opposite: Stack, completeGroup: (ManagedObjectContext) throws -> Void
  ) throws {
    guard let context else {
      throw CoherenceError(
        .illegalState, "The undo history has no context; set it as the `undoHistory` of a context first.")
    }
    try context.operating {
      guard depth == 0, !isReverting else {
        throw CoherenceError(
          .illegalState, "A group of the undo history is open, or an undo runs; call `endGroup` before an undo or redo."
        )
      }
      try completeGroup(context)
      closeGroup()
      guard let group = self[keyPath: stack].popLast() else { return }
      isReverting = true
      defer { isReverting = false }
      current.name = group.name
      do {
        try revert(group, in: context)
      } catch {
        revertCompletedSteps(in: context)
        self[keyPath: stack].append(group)
        throw error
      }
      // Other writers may have deleted all records of the group, and the changes of the group may cancel each other.
      // Nothing is left to restore then.
      if !current.isEmpty { self[keyPath: opposite].append(current) }
      current = UndoGroup()
      trim()
    }
  }

  /// Reverts the completed steps of an undo or redo that failed.
  private func revertCompletedSteps(in context: ManagedObjectContext) {
    let partial = current
    pausing { try? revert(partial, in: context) }
    current = UndoGroup()
  }

  // MARK: Groups

  /// Begins a group that ends with ``endGroup()``. Groups nest: only the end of the outermost group counts.
  ///
  /// - Parameter name: The name of the group for menus, such as "Add Track". The name of an inner group counts if the
  ///   outer group has none.
  public func beginGroup(named name: String? = nil) {
    check()
    if depth == 0 { endTurn() }
    depth += 1
    if current.name == nil { current.name = name }
  }

  /// Ends a group, whose changes ``undo()`` reverts together. Does nothing without an open group.
  public func endGroup() {
    check()
    guard depth > 0 else { return }
    depth -= 1
    if depth == 0 { endTurn() }
  }

  /// Names the group of the present changes: the open group, or the group of the running block or turn.
  public func nameGroup(_ name: String) {
    check()
    current.name = name
    // The end of a turn without changes drops the name.
    awaitTurn()
  }

  /// Removes all changes from the history. The context keeps them.
  public func removeAll() {
    check()
    // The rules of the deletes are part of the removed changes.
    try? context?.applyReadableDeleteRules()
    clear()
  }

  /// Runs a block whose changes are not recorded. The block should not change properties with recorded changes: an undo
  /// restores the values from before its group, and so reverts the block's changes of these properties too. The delete
  /// rules of earlier deletes are applied before the block, and those of the block's deletes at its end.
  public func withoutRecording<T>(_ body: () throws -> T) rethrows -> T {
    check()
    // The rules of earlier deletes are changes to record, the rules of deletes in the block are not.
    try? context?.applyReadableDeleteRules()
    return try pausing {
      defer { try? context?.applyReadableDeleteRules() }
      return try body()
    }
  }

  /// Runs a block whose changes are not recorded, and applies no delete rules.
  func pausing<T>(_ body: () throws -> T) rethrows -> T {
    pauses += 1
    updateRecording()
    defer {
      pauses -= 1
      updateRecording()
    }
    return try body()
  }

  private func check() { context.map { $0.storage.confinement.check("The undo history of the \($0.label)") } }

  /// Applies the delete rules, and ends the group of a turn or a block.
  func endTurn() {
    awaitsTurn = false
    guard depth == 0, !isReverting, pauses == 0, let context else { return }
    guard !current.isEmpty else { return current.name = nil }
    // Without the changes of the delete rules the group would be incomplete. It stays open while the store cannot be
    // read.
    guard (try? context.applyPendingDeleteRules()) != nil else { return isOverdue = true }
    closeGroup()
  }

  /// Records that a save writes the changes of a group that stays open.
  func noteSave() { current.noteSave() }

  private func closeGroup() {
    isOverdue = false
    guard !current.isEmpty else { return }
    var group = current
    current = UndoGroup()
    if let context {
      group.dropRestoredValues(where: { context.hasValue($2, at: $1, of: $0, by: self) }, current: context.current)
    }
    undoGroups.append(group)
    trim()
  }

  private func trim() {
    defer { pruneReinserted() }
    guard let groupLimit, undoGroups.count > groupLimit else { return }
    undoGroups.removeFirst(undoGroups.count - max(0, groupLimit))
    if undoGroups.isEmpty, redoGroups.isEmpty {
      (reinserted, existing, pruningCount) = ([:], [], Self.firstPruningCount)
      dropReinserted()
    }
  }

  /// Releases the reinserted objects whose former identifiers are in no step. The next call that costs more than a
  /// comparison follows after as many undos as this call has looked at steps and identifiers.
  private func pruneReinserted() {
    guard reinserted.count >= pruningCount, let context else { return }
    var (needed, inserted, cost): (Set<ManagedObjectID>, Set<ObjectIdentifier>, Int) = ([], [], 0)
    for group in undoGroups + redoGroups + [current] {
      for step in group.steps {
        let ids = step.recordedIDs
        needed.formUnion(ids.map { context.current($0) })
        if let object = step.insertedObject { inserted.insert(ObjectIdentifier(object)) }
        cost += 1 + ids.count
      }
    }
    let released = reinserted
    reinserted = reinserted.filter { id, object in
      needed.contains(id) || inserted.contains(ObjectIdentifier(object)) && context.mayRestore(id, insteadOf: object)
    }
    existing.formIntersection(reinserted.keys)
    dropReinserted()
    pruningCount = max(Self.firstPruningCount, 2 * reinserted.count, cost)
    // The last references to objects may be released here, outside the access to the property.
    withExtendedLifetime(released) {}
  }

  /// Removes steps from all groups, and removes empty groups.
  func removeSteps(where isObsolete: (UndoStep) -> Bool) {
    func remaining(_ groups: [UndoGroup]) -> [UndoGroup] {
      groups.compactMap { group in
        var group = group
        group.removeSteps(where: isObsolete)
        return group.isEmpty ? nil : group
      }
    }
    let released = (undoGroups, redoGroups, current)
    (undoGroups, redoGroups) = (remaining(undoGroups), remaining(redoGroups))
    current.removeSteps(where: isObsolete)
    // The last references to objects may be released here, outside the access to the properties.
    withExtendedLifetime(released) {}
  }

  /// Ends the recording in the present context, which has removed the history. The block that ends the group with the
  /// turn finds no history in the context any more.
  func leaveContext() {
    clear()
    context = nil
    awaitsTurn = false
  }

  func clear() {
    isOverdue = false
    let released = (undoGroups, redoGroups, current, reinserted)
    (undoGroups, redoGroups, current, reinserted, existing) = ([], [], UndoGroup(), [:], [])
    pruningCount = Self.firstPruningCount
    dropReinserted()
    // The last references to objects may be released here, outside the access to the properties.
    withExtendedLifetime(released) {}
  }

  // MARK: Recording

  /// Sets whether the context's objects record changes.
  func updateRecording() {
    guard let storage = context?.storage, storage.undo === self else { return }
    storage.recordsUndo = pauses == 0
  }

  /// Records a change, before the change is made. Called while ``ContextStorage/recordsUndo`` is set.
  func record(_ step: UndoStep) {
    if !isReverting {
      if !redoGroups.isEmpty { redoGroups = [] }
      if current.isEmpty || isOverdue { awaitTurn() }
    }
    expose(step.temporaryIDs)
    if !reinserted.isEmpty { existing.formUnion(existingIDs(among: step.referredIDs)) }
    current.append(step)
  }

  /// Records the members of a deleted object at the time of the delete.
  func record(_ members: [ManagedObjectID], of relationship: RelationshipDescription, _ object: ManagedObject) {
    expose(members.filter(\.isTemporaryID))
    current.delete(of: object)?.members[relationship] = members
  }

  /// Records that the delete of an object is reverted, before the revert. A delete of the present group is dropped: the
  /// undo of the group would revert it before it makes the delete again.
  func recordRevert(ofDeleting object: ManagedObject) {
    if current.delete(of: object) == nil { return record(.inserted(object)) }
    current.removeSteps { if case .deleted(let deleted) = $0 { deleted.object === object } else { false } }
  }

  /// The list of an object that the present group has recorded; `nil` if the group has not changed the list.
  func list(of relationship: RelationshipDescription, _ object: ManagedObject) -> RecordedList? {
    current.list(of: relationship, object)
  }

  /// Records a change of a recorded list, before the change is made.
  func record(_ edit: MemberEdit, of list: RecordedList) {
    if !isReverting, isOverdue { awaitTurn() }
    expose(edit.temporaryIDs)
    if !reinserted.isEmpty { existing.formUnion(existingIDs(among: edit.memberIDs)) }
    list.note(edit)
  }

  /// Schedules the end of the group at the end of the main queue's turn.
  private func awaitTurn() {
    guard let context, context.storage.confinement.isMain, !awaitsTurn else { return }
    awaitsTurn = true
    context.storage.confinement.submit { [weak context] in context?.insideAlone { context?.storage.undo?.endTurn() } }
  }

  // MARK: Identifiers

  /// Records the object of a deleted record that is inserted again as another record, or that exists again.
  func note(_ object: ManagedObject, reinserting id: ManagedObjectID) {
    reinserted[id] = object
    existing.remove(id)
    guard let storage = context?.storage else { return }
    // Children look for the record too, on their own threads.
    storage.withPending { storage.formerIDs.note(object.recordID, reinserting: id) }
  }
}

@available(*, unavailable, message: "An undo history belongs to its context; use it there.")
extension UndoHistory: Sendable {}
