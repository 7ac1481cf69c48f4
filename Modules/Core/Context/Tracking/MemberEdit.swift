/// One change of the members of a to-many relationship.
enum MemberEdit {
  case add(ManagedObjectID)
  case remove(ManagedObjectID)
  /// The present members, each once, get another order.
  case order([ManagedObjectID])
  /// The members of an ordered relationship are replaced.
  case replace([ManagedObjectID], by: [ManagedObjectID])
}

extension MemberEdit {
  /// Whether the edit sets the order of all members.
  var setsOrder: Bool {
    switch self {
    case .order, .replace: true
    case .add, .remove: false
    }
  }

  /// The members that the edit adds or removes.
  var memberIDs: [ManagedObjectID] {
    switch self {
    case .add(let id), .remove(let id): [id]
    case .order: []
    case .replace(let former, let members): former + members
    }
  }

  /// The temporary identifiers of members that the edit adds or removes.
  var temporaryIDs: [ManagedObjectID] {
    switch self {
    case .add(let id), .remove(let id): id.isTemporaryID ? [id] : []
    case .order: []
    case .replace(let former, let members): former.filter(\.isTemporaryID) + members.filter(\.isTemporaryID)
    }
  }
}

extension MemberChanges {
  /// Adds an edit to the changes.
  ///
  /// - Parameters:
  ///   - isOrdered: Whether the relationship is ordered.
  ///   - isStored: Whether the record is a member in the state below the changes, for an edit that reverts an earlier
  ///     edit; `nil` if the state below has not changed since the earlier edit.
  ///   - below: The members of an ordered list below the changes; `nil` if the list is not loaded.
  mutating func apply(_ edit: MemberEdit, isOrdered: Bool, isStored: Bool? = nil, below: [ManagedObjectID]? = nil) {
    switch edit {
    case .add(let id): add(id, comesLast: isOrdered, isStored: isStored ?? true)
    case .remove(let id): remove(id, isStored: isStored ?? false)
    case .order(let order): arrange(order)
    case .replace(let former, let members): replace(former, by: members, below: below ?? origin?.ids)
    }
    dropFormerOrder(below: below)
  }

  /// - Parameter below: The list below the changes; `nil` if it is unknown. Another writer may have changed it since the
  ///   first change.
  private mutating func replace(
    _ former: [ManagedObjectID], by members: [ManagedObjectID], below: [ManagedObjectID]?
  ) {
    let (old, new) = (Set(former), Set(members))
    for id in former where !new.contains(id) { remove(id) }
    // The order set below gives the members their positions. A member of the list below the changes that was removed
    // and returns is no addition.
    let stored = Set(below ?? [])
    for id in members where !old.contains(id) { add(id, comesLast: !stored.contains(id)) }
    order = members
  }
}
