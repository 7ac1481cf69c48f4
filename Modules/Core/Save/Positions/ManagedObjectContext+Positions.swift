// The positions of members of ordered one-to-many relationships, which are columns of the members.

extension ManagedObjectContext {
  /// Writes the positions of members of ordered relationships into their rows, and changes as few rows as possible. A
  /// position is a value of the owner's list, so that `willSave` of the members is not called.
  ///
  /// Members appended to members that keep their positions get positions without a read of the list. Positions are
  /// derived from the saved ones, so that a second call has the result of the first. A context that saves into its
  /// parent has none to give: the parent derives the positions from the order that it takes over.
  final func assignPositions() throws {
    guard storage.unsaved.changesLists, parent == nil || savesPastParent else { return }
    var arrangements: [MemberArrangement] = []
    for record in storage.records where record.kind != .deleted && !record.members.isEmpty {
      guard let owner = record.object else { continue }
      for (relationship, changes) in record.members where relationship.isOrdered && !changes.isEmpty {
        guard case .inverseColumn(let inverse, let slot?) = relationship.storage else { continue }
        let column = MemberColumn(entity: inverse.entity, inverse: inverse, positionSlot: slot)
        let version = record.base?.version
        if changes.keepsPositions, let first = ListPositions.first(behindVersion: version) {
          try append(changes.added, at: slot, from: first)
          owner.loadedList(of: relationship)?.arranged = nil
        } else {
          let range = ListPositions.range(atVersion: (version ?? 0) &+ 1)
          arrangements.append(try arrangement(of: relationship, owner, column, in: range))
        }
      }
    }
    try arrange(arrangements)
    // The preparation of the save calls `willSave` of new records only. Members with new positions are left out.
    _ = storage.takeNewRecords()
  }

  private final func append(_ ids: [ManagedObjectID], at slot: Int, from first: Int64) throws {
    let members = try existingObjects(with: ids)
    for (id, position) in zip(ids, ListPositions.appended(ids.count, from: first)) {
      try members[id]?.writeIfPresent(.int(position), at: slot)
    }
  }

  /// Gives the members of lists rising positions. Only the members that move are loaded as objects, for all lists
  /// together.
  private final func arrange(_ arrangements: [MemberArrangement]) throws {
    guard !arrangements.isEmpty else { return }
    var arrangements = arrangements
    try readPositions(of: &arrangements)
    var moves: [(list: MemberArrangement, positions: [Int64?], moved: [Int])] = []
    for list in arrangements {
      guard let slot = list.column.positionSlot else { continue }
      let positions = ListPositions.arranged(list.stored, in: list.range)
      let hasRecords = hasUnsavedMembers(of: list.relationship)
      let moved = list.ids.indices.filter { index in
        guard hasRecords, let record = storage.record(for: list.ids[index]) else {
          return list.stored[index].differs(from: positions[index])
        }
        return record.kind != .deleted && record[slot] != positions[index].map(AttributeValue.int) ?? .null
      }
      moves.append((list, positions, moved))
    }
    // A member deleted by another context is a conflict of the list, which the save finds.
    let members = try existingObjects(with: moves.flatMap { move in move.moved.map { move.list.ids[$0] } })
    for (list, positions, moved) in moves {
      guard let slot = list.column.positionSlot else { continue }
      for index in moved {
        try members[list.ids[index]]?.writeIfPresent(positions[index].map(AttributeValue.int) ?? .null, at: slot)
      }
      list.owner.loadedList(of: list.relationship)?.arranged = (list.ids, positions)
    }
  }

  /// Whether members of a relationship may have unsaved changes. Without any, no member is looked up.
  private final func hasUnsavedMembers(of relationship: RelationshipDescription) -> Bool {
    storage.unsaved.hasRecords(of: relationship.destination.root)
  }

  /// The members of a list in their new order, with the positions that they have in the list below this context, as far
  /// as the context knows these.
  private final func arrangement(
    of relationship: RelationshipDescription, _ owner: ManagedObject, _ column: MemberColumn, in range: Range<Int64>
  ) throws -> MemberArrangement {
    let ids = try owner.memberIDs(of: relationship)
    var result = MemberArrangement(owner: owner, relationship: relationship, column: column, range: range, ids: ids)
    result.stored.reserveCapacity(ids.count)
    let list = owner.loadedList(of: relationship)
    // Empty without known positions.
    let positions = list?.positions ?? []
    let former = list.flatMap { positions.isEmpty ? nil : ListMatching(ids, in: $0.ids).formerIndices }
    let hasRecords = hasUnsavedMembers(of: relationship)
    for (index, id) in ids.enumerated() {
      let record = hasRecords ? storage.record(for: id) : nil
      let basePosition = record?.base.map { column.position(of: $0, owner: owner.recordID) }
      if record == nil || basePosition.map({ $0 != .new }) == true, let known = former?[index] {
        // The list belongs to the version of its owner's row, and the row of a member may be older.
        result.stored.append(positions[known].map(StoredPosition.at) ?? .missing(key: id.key))
      } else if let basePosition {
        result.stored.append(basePosition)
      } else {
        if record == nil { result.unread.append(result.stored.count) }
        result.stored.append(.new)
      }
    }
    return result
  }

  /// Reads the rows of members whose positions the context does not know, for all lists together, and makes no objects
  /// of them.
  ///
  /// The row of an unchanged member's object may be older than the row of the owner, and the save would not notice,
  /// because it writes the moved members only.
  private final func readPositions(of arrangements: inout [MemberArrangement]) throws {
    let unreadIDs = arrangements.flatMap { list in list.unread.map { list.ids[$0] } }
    guard !unreadIDs.isEmpty else { return }
    let rows = Dictionary(
      try loadRows(unreadIDs).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for number in arrangements.indices {
      let (ids, unread) = (arrangements[number].ids, arrangements[number].unread)
      let (column, owner) = (arrangements[number].column, arrangements[number].owner.recordID)
      for index in unread {
        if let row = rows[ids[index]] { arrangements[number].stored[index] = column.position(of: row, owner: owner) }
      }
    }
  }
}

extension ContextStorage {
  /// Reverts the positions that a failed save has given to members. The next save gives the positions again, as far as the
  /// lists are still changed then.
  func revertPositions() {
    guard unsaved.changesLists else { return }
    withPending {
      for record in records {
        if record.kind == .updated { record.revertPositions() }
        guard record.hasMembers else { continue }
        for list in (record.object?.collections ?? [:]).values { list.arranged = nil }
      }
    }
  }
}

extension PendingRecord {
  /// Gives positions their saved values, and none in the list of an owner that the save has not written. The slot of the
  /// reference to the owner precedes the slot of the position.
  fileprivate func revertPositions() {
    guard let base else { return }
    for slot in changed {
      guard case .position = entity.slots[slot] else { continue }
      set(changed.contains(slot - 1) ? .null : base[slot], at: slot)
    }
  }
}

/// The new order of one list.
private struct MemberArrangement {
  let owner: ManagedObject
  let relationship: RelationshipDescription
  let column: MemberColumn
  /// The range of the new positions.
  let range: Range<Int64>
  /// The members in their new order.
  let ids: [ManagedObjectID]
  /// The positions of the members below the context.
  var stored: [StoredPosition] = []
  /// The indices of the members whose positions are in rows that the context has not read.
  var unread: [Int] = []
}

extension MemberColumn {
  /// The position that a saved member has in the list of an owner.
  func position(of row: Row, owner: ManagedObjectID) -> StoredPosition {
    // A member from another owner has no position in this list yet.
    guard let reference = inverse.slot, row[reference] == .reference(owner) else { return .new }
    return position(of: row).map(StoredPosition.at) ?? .missing(key: row.id.key)
  }
}

extension ManagedObject {
  /// Writes a slot, unless the record is deleted in the store.
  fileprivate final func writeIfPresent(_ value: AttributeValue, at slot: Int) throws {
    do {
      try write(value, at: slot)
    } catch let error as CoherenceError where error.isOfMissingRecord {
      return
    }
  }
}
