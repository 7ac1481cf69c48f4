// The positions of members of ordered one-to-many relationships, which are columns of the members.

extension ManagedObjectContext {
  /// Writes the positions of members of ordered relationships into their rows, and changes as few rows as possible. A
  /// position is a value of the owner's list, so that `willSave` of the members is not called.
  ///
  /// Members appended to members that keep their positions get positions without a read of the list. Positions are
  /// derived from the saved ones, so that a second call has the result of the first. A context that saves into its
  /// parent has none to give: the parent derives the positions from the order that it takes over.
  final func assignPositions() throws {
    guard storage.changesLists, parent == nil || savesThroughParent else { return }
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
          let range = ListPositions.range(atVersion: (version ?? 0) + 1)
          try arrange(relationship, of: owner, column, in: range)
        }
      }
    }
    // The preparation of the save calls `willSave` of new records only. Members with new positions are left out.
    _ = storage.takeNewRecords()
  }

  private final func append(_ ids: [ManagedObjectID], at slot: Int, from first: Int64) throws {
    let members = try existingObjects(with: ids)
    for (id, position) in zip(ids, ListPositions.appended(ids.count, from: first)) {
      try members[id]?.writeIfPresent(.int(position), at: slot)
    }
  }

  /// Gives members rising positions. Only the members that move are loaded as objects.
  private final func arrange(
    _ relationship: RelationshipDescription, of owner: ManagedObject, _ column: MemberColumn, in range: Range<Int64>
  ) throws {
    guard let slot = column.positionSlot else { return }
    let ids = try owner.memberIDs(of: relationship)
    let stored = try storedPositions(of: ids, owner, relationship, column)
    let positions = ListPositions.arranged(stored, in: range)
    let moved = ids.indices.filter { index in
      guard let record = storage.record(for: ids[index]) else { return stored[index].differs(from: positions[index]) }
      return record.kind != .deleted && record[slot] != positions[index].map(AttributeValue.int) ?? .null
    }
    // A member deleted by another context is a conflict of the list, which the save finds.
    let members = try existingObjects(with: moved.map { ids[$0] })
    for index in moved {
      try members[ids[index]]?.writeIfPresent(positions[index].map(AttributeValue.int) ?? .null, at: slot)
    }
    owner.loadedList(of: relationship)?.arranged = Dictionary(
      zip(ids, positions), uniquingKeysWith: { first, _ in first })
  }

  /// The positions that members have in an owner's list below this context. Reads the rows of members whose positions
  /// the list does not have, and makes no objects of them.
  ///
  /// The row of an unchanged member's object may be older than the row of the owner, and the save would not notice,
  /// because it writes the moved members only.
  private final func storedPositions(
    of ids: [ManagedObjectID], _ owner: ManagedObject, _ relationship: RelationshipDescription, _ column: MemberColumn
  ) throws -> [StoredPosition] {
    let list = owner.loadedList(of: relationship)?.positions ?? [:]
    var unreadIndices: [Int] = []
    var result: [StoredPosition] = []
    result.reserveCapacity(ids.count)
    for id in ids {
      let record = storage.record(for: id)
      let basePosition = record?.base.map { column.position(of: $0, owner: owner.recordID) }
      if record == nil || basePosition.map({ $0 != .new }) == true, let position = list[id] {
        // The list belongs to the version of its owner's row, and the row of a member may be older.
        result.append(position.map(StoredPosition.at) ?? .missing(key: id.key))
      } else if let basePosition {
        result.append(basePosition)
      } else {
        if record == nil { unreadIndices.append(result.count) }
        result.append(.new)
      }
    }
    guard !unreadIndices.isEmpty else { return result }
    let rows = Dictionary(
      try loadRows(unreadIndices.map { ids[$0] }).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for index in unreadIndices {
      if let row = rows[ids[index]] { result[index] = column.position(of: row, owner: owner.recordID) }
    }
    return result
  }
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
    } catch let error as CoherenceError where error.code == .objectDeleted || error.code == .objectNotFound {
      return
    }
  }
}
