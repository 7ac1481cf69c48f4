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
      guard case .inverseColumn(let inverse, let slot?) = relationship.storage, let reference = inverse.slot else {
        continue
      }
      var last: Int64 = -1
      for id in ids {
        let index = indices[id]
        if let index, result[index].kind == .deleted { continue }
        let base = index.map { result[$0].base } ?? rows[id]
        // A member from another owner has no position in this list yet.
        if base?[reference] == .reference(owner), case .int(let position)? = base?[slot], position > last {
          last = position
          if let index { result[index] = result[index].moved(to: position, slot: slot) }
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
