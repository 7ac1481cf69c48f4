import CoherenceCore

/// A change from one state to the next. Steps change rows and links; ``finished()`` writes the indexes, and checks the
/// result against the model's constraints. Violations between steps, such as two records with one unique value, are
/// allowed. Used under the lock of the writers of the content.
struct InMemoryTransaction {
  let base: InMemoryState
  var next: InMemoryState
  /// The keys of added, changed or removed rows, by root. Their index entries are still those of ``base``.
  private(set) var changedKeys: [ObjectIdentifier: Set<Int64>] = [:]
  /// The added links, whose ends are checked at the end.
  private(set) var insertedLinks: [(table: LinkTable, link: Link)] = []

  init(_ base: InMemoryState) {
    self.base = base
    self.next = base
  }

  /// Applies a step of a save. The versions of its rows must have been compared.
  ///
  /// - Throws: ``ErrorCode/noStore`` for an entity or a link table that the store was opened without;
  ///   ``ErrorCode/storeCorrupt`` for the key of another record.
  mutating func apply(_ step: SaveStep) throws {
    switch step {
    case .unlink(let table, let links):
      try next.checkHolds(table)
      next.remove(links, from: table)
    case .fix(let entity, let slots, let rows):
      for row in rows { try change(row, of: entity, slots: slots, version: nil) }
    case .delete(let entity, let deletes):
      for delete in deletes { try setRow(nil, key: delete.id.key, of: entity) }
    case .insert(let entity, let rows):
      for row in rows { try insert(row, of: entity) }
    case .update(let entity, let slots, let updates):
      for update in updates { try change(update.row, of: entity, slots: slots, version: update.row.version) }
    case .link(let table, let links):
      try next.checkHolds(table)
      next.insert(links, into: table)
      insertedLinks += links.map { (table, $0) }
    }
  }

  /// Sets or removes a row.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store was opened without the entity.
  mutating func setRow(_ row: Row?, key: Int64, of entity: EntityDescription) throws {
    try next.checkHolds(entity)
    next.setRow(row, key: key, of: entity.root)
    changedKeys[ObjectIdentifier(entity.root), default: []].insert(key)
  }

  /// Adds a row.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt`` for a key that another record has.
  private mutating func insert(_ row: Row, of entity: EntityDescription) throws {
    guard next.row(row.key, of: entity.root) == nil else {
      var error = CoherenceError(
        .storeCorrupt,
        "A new record of '\(entity.name)' has the key of an existing record; take keys from the store "
          + "only, and each once.")
      error.objectIDs = [row.id]
      throw error
    }
    try setRow(row, key: row.key, of: entity)
  }

  /// Writes some slots of a row. A missing row is skipped: versions were checked before, so the step can only clear a
  /// reference in a record that another context deleted.
  ///
  /// - Parameter version: The new version; `nil` to keep the stored version.
  private mutating func change(_ row: Row, of entity: EntityDescription, slots: SlotSet, version: Int64?) throws {
    guard let stored = next.row(row.key, of: entity.root) else { return }
    try setRow(stored.taking(slots, from: row, version: version ?? stored.version), key: row.key, of: entity)
  }
}

extension Row {
  /// This row with some values of another row. Returns the other row if the values are equal, so that the store and the
  /// contexts share one buffer.
  fileprivate func taking(_ slots: SlotSet, from other: Row, version: Int64) -> Row {
    let isSame = (0..<count).allSatisfy { slots.contains($0) || self[$0] == other[$0] }
    if isSame, other.version == version { return other }
    return Row.make(id: id, entity: entity, version: version) { writer in
      for slot in 0..<count { writer.append(slots.contains(slot) ? other[slot] : self[slot]) }
    }
  }
}
