import CoherenceCore
import CoherenceReconciliation

/// The lists of planned updates, after pending edits of to-many relationships.
extension PendingReconciliation {
  /// The members to write, after pending edits of owners and members. A list is the members of one to-many relationship
  /// of one record.
  struct ReconciledLists {
    /// The lists that still differ from the stored ones, by input record.
    var lists: [Int: [MemberComparison.ExpectedMembers]] = [:]
    /// The relationships whose pending edits lost to the server, by input record.
    var discardedRelationships: [Int: Set<String>] = [:]
    /// The input records with a list that pending edits keep as it is stored.
    var recordsWithDroppedLists: Set<Int> = []
    /// The input records with a list that pending edits keep or change.
    var recordsWithEditedLists: Set<Int> = []
    /// The input records with a list that only pending edits of members keep or change.
    var recordsWithEditedMembers: Set<Int> = []
  }

  /// Keeps the members that the user added, and leaves out the members that the user removed, in the lists of updates.
  /// Keeps the lists of records that were inserted again: the input has the members of the former records.
  ///
  /// - Parameter edits: The pending edits of the updates' records.
  func reconciledLists(
    of updates: [MergePlan.Update], _ edits: [ManagedObjectID: PendingEdit], _ incoming: Incoming
  ) throws -> ReconciledLists {
    var result = ReconciledLists()
    for (relationship, lists) in Dictionary(grouping: updates.flatMap(\.lists), by: \.relationship) {
      guard source.covers(layout.entity) || source.covers(relationship.destination) else {
        for list in lists { result.lists[list.index, default: []].append(list) }
        continue
      }
      let stored = try context.memberIDs(of: relationship, owners: lists.map(\.owner))
      let memberEdits = try memberEdits(of: relationship, lists, stored)
      for list in lists {
        if edits[list.owner]?.kind == .insert, isReinserted(list.index, incoming) {
          result.recordsWithEditedLists.insert(list.index)
          result.recordsWithDroppedLists.insert(list.index)
          continue
        }
        let present = stored[list.owner] ?? []
        let own = edits[list.owner].flatMap { $0.concerns(relationship) ? $0 : nil }
        // Under the policy `.server` the owner's edit loses, unless it cannot change any more, or is the only change.
        let isDiscarded = policy == .server && own.map { !$0.isFixed && !$0.explains(list, present) } ?? false
        if isDiscarded { result.discardedRelationships[list.index, default: []].insert(relationship.name) }
        let reconciled = reconcile(list, stored: present, own: isDiscarded ? nil : own, memberEdits)
        if reconciled?.members != list.members {
          result.recordsWithEditedLists.insert(list.index)
          if own == nil || isDiscarded { result.recordsWithEditedMembers.insert(list.index) }
        }
        if let reconciled {
          result.lists[list.index, default: []].append(reconciled)
        } else {
          result.recordsWithDroppedLists.insert(list.index)
        }
      }
    }
    return result
  }

  /// The pending edits of stored and expected members, which may have moved to another owner.
  private func memberEdits(
    of relationship: RelationshipDescription, _ lists: [MemberComparison.ExpectedMembers],
    _ stored: [ManagedObjectID: [ManagedObjectID]]
  ) throws -> [ManagedObjectID: PendingEdit] {
    guard relationship.inverse != nil, source.covers(relationship.destination) else { return [:] }
    var ids = Set(stored.values.joined())
    for list in lists { for case .existing(let id) in list.members { ids.insert(id) } }
    return try edits(of: Array(ids), relationship.destination)
  }

  /// Applies pending edits to a list of the input.
  ///
  /// - Parameter own: The edit of the list's owner that concerns the list.
  /// - Returns: The members to write; `nil` if the stored members stay.
  private func reconcile(
    _ list: MemberComparison.ExpectedMembers, stored: [ManagedObjectID], own: PendingEdit?,
    _ memberEdits: [ManagedObjectID: PendingEdit]
  ) -> MemberComparison.ExpectedMembers? {
    let relationship = list.relationship
    // An edited order stays as a whole, and so does a list whose edit does not name its members.
    if let own, relationship.isOrdered || own.members[relationship.name] == nil { return nil }
    func isEdited(_ id: ManagedObjectID) -> Bool {
      own?.members[relationship.name]?.contains(id) == true
        || memberEdits[id]?.concerns(list.owner, as: relationship.inverse) == true
    }
    let storedIDs = Set(stored)
    let expectedIDs = Set(list.members)
    var members = list.members.filter { target in
      guard case .existing(let id) = target, isEdited(id) else { return true }
      return storedIDs.contains(id)
    }
    for id in stored where isEdited(id) && !expectedIDs.contains(.existing(id)) { members.append(.existing(id)) }
    let present = stored.map(MergeTargets.Target.existing)
    if relationship.isOrdered ? members == present : Set(members) == Set(present) { return nil }
    return MemberComparison.ExpectedMembers(
      index: list.index, owner: list.owner, relationship: relationship, members: members)
  }
}

extension PendingEdit {
  /// Whether the edit changed a to-many relationship of its record.
  fileprivate func concerns(_ relationship: RelationshipDescription) -> Bool {
    changed.contains(relationship.name) || members[relationship.name] != nil
  }

  /// Whether a list of the input differs from the stored one only by members that the edit has added or removed, so that
  /// the server has not changed the list. False for a list with an order, because the former order is not known.
  fileprivate func explains(_ list: MemberComparison.ExpectedMembers, _ stored: [ManagedObjectID]) -> Bool {
    guard !list.relationship.isOrdered, let own = members[list.relationship.name] else { return false }
    let differing = Set(list.members).symmetricDifference(stored.map(MergeTargets.Target.existing))
    return differing.allSatisfy { target in
      if case .existing(let id) = target { own.contains(id) } else { false }
    }
  }

  /// Whether the edit of a member changed its relationship to an owner. An insert counts as a change of all
  /// relationships.
  ///
  /// - Parameter inverse: The relationship of the member that leads to the owner.
  fileprivate func concerns(_ owner: ManagedObjectID, as inverse: RelationshipDescription?) -> Bool {
    guard let inverse else { return false }
    if kind == .insert || isConfirmedInsert { return true }
    if inverse.isToMany { return members[inverse.name]?.contains(owner) == true }
    // The server has confirmed the change since the request for the input.
    return changed.contains(inverse.name) || outdated[inverse.name] != nil
  }
}
