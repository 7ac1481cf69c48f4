/// Puts the ordered lists of a save on top of what the store has by now, after a conflict.
struct ListMerge {
  private let context: ManagedObjectContext
  private let permanentIDs: PermanentIDs
  /// The members that lists get, by owner.
  private(set) var members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]] = [:]
  /// The members' rows as the store has them.
  private var rows: [ManagedObjectID: Row] = [:]

  init(_ context: ManagedObjectContext, permanentIDs: PermanentIDs) {
    self.context = context
    self.permanentIDs = permanentIDs
  }

  /// The relationships of the decided lists.
  var relationships: Set<RelationshipDescription> { Set(members.values.flatMap(\.keys)) }

  /// The ordered lists that a change in conflict is about.
  mutating func lists(of change: RecordChange) throws -> [ListConflict] {
    guard change.changesLists, let owner = change.record.object else { return [] }
    let changed = change.record.members.filter { $0.key.isOrdered && !$0.value.isEmpty }
    return try context.readingLatest {
      try changed.sorted { $0.key.name < $1.key.name }.map { relationship, changes in
        let mine = try owner.memberIDs(of: relationship)
        let stored = try context.committedMembers(of: relationship, owners: [change.id]) { found in
          for row in found { rows[row.id] = row }
        }
        return ListConflict(
          relationship: relationship, ancestor: changes.origin?.ids, mine: mine, store: stored[change.id] ?? [])
      }
    }
  }

  /// Decides what the lists of a change become.
  ///
  /// - Parameter keepsOrder: Whether the saver's order of a list wins.
  /// - Returns: Whether one differs from what the store has.
  @discardableResult
  mutating func decide(
    _ lists: [ListConflict], of change: RecordChange, keepsOrder: (ListConflict) -> Bool
  ) -> Bool {
    var differs = false
    for list in lists {
      guard let changes = change.record.members[list.relationship]?.mapped({ permanentIDs[$0] }) else { continue }
      let result = (keepsOrder(list) ? changes : changes.withoutOrder).applied(to: list.store)
      members[change.id, default: [:]][list.relationship] = result
      differs = differs || result != list.store
    }
    return differs
  }

  /// The changes with the members of decided one-to-many lists in their places.
  ///
  /// - Parameter add: Makes the change of a member, which the save did not change so far, to a place in a slot.
  func placed(_ changes: [RecordChange], add: (Row, Int64, Int) -> RecordChange) -> [RecordChange] {
    var result = changes
    var indices = Dictionary(changes.indices.map { (changes[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
    for (owner, relationship, ids) in members.flatMap({ owner, lists in lists.map { (owner, $0.key, $0.value) } }) {
      guard case .inverseColumn(let inverse, let slot?) = relationship.storage, let reference = inverse.slot else {
        continue
      }
      var last: Int64 = -1
      for id in ids {
        let index = indices[id]
        if let index, result[index].kind == .deleted { continue }
        let base = index.map { result[$0].base } ?? rows[id]
        // A member from another owner has no place in this list yet.
        if base?[reference] == .reference(owner), case .int(let place)? = base?[slot], place > last {
          last = place
          if let index { result[index] = result[index].moved(to: place, slot: slot) }
          continue
        }
        last += 1
        if let index {
          result[index] = result[index].moved(to: last, slot: slot)
        } else if let row = rows[id] {
          indices[id] = result.count
          result.append(add(row, last, slot))
        }
      }
    }
    return result
  }
}
