/// The changes that one save makes in one store: the rows to write, and the unsaved records that the rows come from.
///
/// The plan and the store only use ``rows``. The merge policy decides about the changes, and the objects of their
/// records become clean after the save.
struct UnitOfWork {
  /// The rows to write, as values.
  private(set) var rows = RowChanges()
  /// The changes behind the groups of `rows.inserts`, group by group.
  private(set) var insertGroups: [[RecordChange]] = []
  /// The updates, changes of links alone included.
  private(set) var updates: [RecordChange] = []
  /// The changes behind the groups of `rows.deletes`, group by group.
  private(set) var deleteGroups: [[RecordChange]] = []
  /// Retains the records of all changes, see ``RecordChange``.
  let keeper: RecordKeeper

  init(of keeper: RecordKeeper) { self.keeper = keeper }

  /// The links to add and remove.
  var links: LinkChanges {
    get { rows.links }
    set { rows.links = newValue }
  }

  var inserts: [RecordChange] { insertGroups.count == 1 ? insertGroups[0] : insertGroups.flatMap(\.self) }
  var deletes: [RecordChange] { deleteGroups.count == 1 ? deleteGroups[0] : deleteGroups.flatMap(\.self) }
  var insertsAndUpdates: [RecordChange] { updates.isEmpty ? inserts : inserts + updates }
  var changes: [RecordChange] { deleteGroups.isEmpty ? insertsAndUpdates : insertsAndUpdates + deletes }

  /// Adds a change of a record that ``keeper`` retains.
  mutating func append(_ change: RecordChange) {
    let entity = change.entity
    switch change.kind {
    case .inserted:
      guard let row = change.row else { return }
      let index = rows.insert(row, of: entity, isRestored: change.base != nil)
      if index == insertGroups.count { insertGroups.append([]) }
      insertGroups[index].append(change)
    case .updated:
      updates.append(change)
      guard change.isWritten, let row = change.row else { return }
      let update = RowUpdate(row: row, baseVersion: change.baseVersion)
      rows.update(update, of: entity, slots: change.changed, base: change.base)
    case .deleted:
      let delete = RowDelete(id: change.id, baseVersion: change.baseVersion)
      let index = rows.delete(delete, of: entity, base: change.base)
      if index == deleteGroups.count { deleteGroups.append([]) }
      deleteGroups[index].append(change)
    }
  }
}
