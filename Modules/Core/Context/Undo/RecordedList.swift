/// An ordered relationship before the changes of an undo group, and the group's own changes of its members.
///
/// Other writers may add, remove and move members between the group and its undo, so that the list before the group is
/// not the list to restore.
final class RecordedList {
  let object: ManagedObject
  let relationship: RelationshipDescription
  /// The members before the first change.
  let before: [ManagedObjectID]
  private var added: Set<ManagedObjectID> = []
  /// The members that the group has removed.
  private(set) var removed: Set<ManagedObjectID> = []
  /// Whether the group has moved members.
  private(set) var isReordered = false

  init(_ object: ManagedObject, _ relationship: RelationshipDescription, before: [ManagedObjectID]) {
    self.object = object
    self.relationship = relationship
    self.before = before
  }

  /// The former members, and the members that the group has added.
  var recordedIDs: [ManagedObjectID] { before + added }

  /// Whether the group has added a member.
  func hasAdded(_ id: ManagedObjectID) -> Bool { added.contains(id) }

  /// Records a change of the group, before the change is made.
  func note(_ edit: MemberEdit) {
    switch edit {
    case .add(let id): note(added: id)
    case .remove(let id): note(removed: id)
    case .order: isReordered = true
    case .replace(let former, let members):
      let (old, new) = (Set(former), Set(members))
      for id in former where !new.contains(id) { note(removed: id) }
      for id in members where !old.contains(id) { note(added: id) }
      if !isReordered { isReordered = former.filter(new.contains) != members.filter(old.contains) }
    }
  }

  private func note(added id: ManagedObjectID) {
    // A member that comes back may have another index than before.
    if removed.remove(id) == nil { added.insert(id) } else { isReordered = true }
  }

  private func note(removed id: ManagedObjectID) {
    if added.remove(id) == nil { removed.insert(id) }
  }

  /// Forgets the additions and removals of records whose references to the owner stay as they are.
  ///
  /// - Parameter ids: The records.
  /// - Returns: Whether nothing is left to undo.
  func forgetReferences(of ids: Set<ManagedObjectID>) -> Bool {
    guard relationship.inverse?.isToMany == false else { return false }
    added.subtract(ids)
    removed.subtract(ids)
    return added.isEmpty && removed.isEmpty && !isReordered
  }

  /// The members after the undo of the group's own changes.
  ///
  /// - Parameters:
  ///   - members: The present members.
  ///   - present: Returns the present identifier for a recorded one.
  func reverted(_ members: [ManagedObjectID], _ present: (ManagedObjectID) -> ManagedObjectID) -> [ManagedObjectID] {
    let before = before.map(present)
    let former = Set(before)
    let addedByGroup = Set(added.map(present)).subtracting(former)
    let remaining = members.filter { !addedByGroup.contains($0) }
    let missing = Set(removed.map(present)).intersection(former).subtracting(remaining)
    // Without moves in the group, the present order stays. Otherwise the former order returns, and members that other
    // writers added are inserted into it.
    let restored = before.filter(missing.union(remaining).contains)
    return isReordered
      ? restored.inserting(where: { !former.contains($0) }, from: remaining)
      : remaining.inserting(where: missing.contains, from: before)
  }

  /// Whether a list has the members after the undo, and the former members among them in their order. Without the group's
  /// changes, the list below the unsaved changes is such a list, and has the others where other writers have added them.
  ///
  /// - Parameters:
  ///   - list: The list below the unsaved changes.
  ///   - reverted: The members after the undo.
  ///   - present: Returns the present identifier for a recorded one.
  func isFormerOrder(
    _ list: [ManagedObjectID], of reverted: [ManagedObjectID], _ present: (ManagedObjectID) -> ManagedObjectID
  ) -> Bool {
    guard list.count == reverted.count, Set(list) == Set(reverted) else { return false }
    let former = Set(before.map(present))
    return list.filter(former.contains) == reverted.filter(former.contains)
  }
}

extension [ManagedObjectID] {
  /// Inserts some elements of another list, each behind the elements that precede it there.
  fileprivate func inserting(
    where isInserted: (ManagedObjectID) -> Bool, from other: [ManagedObjectID]
  ) -> [ManagedObjectID] {
    let ownIDs = Set(self)
    var first: [ManagedObjectID] = []
    var following: [ManagedObjectID: [ManagedObjectID]] = [:]
    var last: ManagedObjectID?
    for id in other {
      if ownIDs.contains(id) {
        last = id
      } else if isInserted(id) {
        if let last { following[last, default: []].append(id) } else { first.append(id) }
      }
    }
    guard !first.isEmpty || !following.isEmpty else { return self }
    return first + flatMap { [$0] + (following[$0] ?? []) }
  }
}
