/// Merges the ordered lists that a save changes with the lists that the store has, after a conflict.
struct ListMerge {
  private let context: ManagedObjectContext
  /// The members of the decided lists, by owner.
  private(set) var members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]] = [:]
  /// The rows of members as the store has them.
  private var rows: [ManagedObjectID: Row] = [:]

  init(_ context: ManagedObjectContext) { self.context = context }

  /// Removes the decided lists of an owner.
  mutating func forget(_ owner: ManagedObjectID) { members[owner] = nil }

  /// The relationships of the decided lists.
  var relationships: Set<RelationshipDescription> { Set(members.values.flatMap(\.keys)) }

  /// Reads the ordered lists that a change in conflict changes, as the context and the store have them.
  ///
  /// - Throws: Errors of the store.
  mutating func lists(of change: RecordChange, _ permanentIDs: PermanentIDs) throws -> [ListConflict] {
    guard change.changesLists, let owner = change.record.object else { return [] }
    let changed = change.members.filter { $0.key.isOrdered && !$0.value.isEmpty }
    let namesPermanentIDs = change.isTakeover
    return try context.readingLatest {
      try changed.sorted { $0.key.name < $1.key.name }.map { relationship, changes in
        let mine = try owner.memberIDs(of: relationship).map { namesPermanentIDs ? permanentIDs[$0] : $0 }
        let stored = try context.committedMembers(of: relationship, owners: [change.id]) { found in
          for row in found { rows[row.id] = row }
        }
        return ListConflict(
          relationship: relationship, ancestor: changes.origin?.ids, mine: mine, store: stored[change.id] ?? [])
      }
    }
  }

  /// Merges the lists of a change with the lists in the store.
  ///
  /// - Parameter keepsOrder: Whether the saver's order of a list wins.
  /// - Returns: Whether a list differs from the store's.
  @discardableResult
  mutating func decide(
    _ lists: [ListConflict], of change: RecordChange, _ permanentIDs: PermanentIDs,
    keepsOrder: (ListConflict) -> Bool
  ) -> Bool {
    var differs = false
    for list in lists {
      guard let changes = change.members[list.relationship]?.mapped({ permanentIDs[$0] }) else { continue }
      let result = (keepsOrder(list) ? changes : changes.withoutOrder).applied(to: list.store)
      members[change.id, default: [:]][list.relationship] = result
      differs = differs || result != list.store
    }
    return differs
  }

  /// The changes with positions for the members of decided one-to-many lists.
  ///
  /// - Parameter add: Makes the change that gives a member without a change its position in a slot.
  func positioned(_ changes: [RecordChange], add: (Row, Int64, Int) -> RecordChange) -> [RecordChange] {
    var result = changes
    var indices = Dictionary(changes.indices.map { (changes[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
    for (owner, relationship, ids) in members.flatMap({ owner, lists in lists.map { (owner, $0.key, $0.value) } }) {
      guard case .inverseColumn(let inverse, let slot?) = relationship.storage else { continue }
      let column = MemberColumn(entity: inverse.entity, inverse: inverse, positionSlot: slot)
      let present = ids.filter { id in indices[id].map { result[$0].kind != .deleted } ?? true }
      let stored = present.map { id in
        (indices[id].map { result[$0].base } ?? rows[id]).map { column.position(of: $0, owner: owner) } ?? .new
      }
      let positions = ListPositions.arranged(stored, in: range(of: stored, indices[owner].map { result[$0] }))
      for ((id, stored), position) in zip(zip(present, stored), positions) {
        if let index = indices[id] {
          result[index] = result[index].moved(to: position, slot: slot)
        } else if let row = rows[id], let position, stored.differs(from: position) {
          indices[id] = result.count
          result.append(add(row, position, slot))
        }
      }
    }
    return result
  }

  /// The positions that the members of a decided list may have.
  ///
  /// - Parameter change: The change of the owner; `nil` for an owner whose row the save leaves alone.
  private func range(of stored: [StoredPosition], _ change: RecordChange?) -> Range<Int64> {
    if let change, change.isWritten { return ListPositions.range(atVersion: RecordChange.version(after: change.base)) }
    // The version of the store's row stays, so that positions may not come near to those of members added later.
    let last = stored.reduce(0 as Int64) { last, member in
      if case .at(let position) = member { max(last, position) } else { last }
    }
    let range = ListPositions.range(atVersion: .max)
    // Another program may have written a position with too little room behind it.
    return range.lowerBound..<min(last, range.upperBound - Int64(stored.count) - 1) + Int64(stored.count) + 1
  }
}
