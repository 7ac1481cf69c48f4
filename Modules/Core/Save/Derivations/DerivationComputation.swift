/// Computes derived values in Core, for a store without ``RelationshipDeriving``, from the stored records under the
/// changes of a save.
///
/// The owners are written with the next version even when their values stay. So are the records at the end of a path or
/// a link from which a value is read. A concurrent save that computes values from the same records then meets a version
/// conflict, and computes again.
struct DerivationComputation {
  /// A row to write.
  struct Written {
    /// The row with its derived values, at its next version.
    let row: Row
    /// The slots of the derived values.
    let slots: SlotSet
    /// The row as the save would have left it, without new derived values. For a record that the save does not change
    /// otherwise, this is the row in the store.
    let stored: Row
  }

  /// The rows to write, by record.
  private(set) var written: [ManagedObjectID: Written] = [:]

  /// - Throws: Errors of the reader; ``ErrorCode/arithmeticOverflow``.
  init(
    _ updates: [DerivationUpdate], after changes: RowChanges, of store: any PersistentStore,
    reading reader: any StoreReader
  ) throws {
    let overlay = SaveOverlay(of: changes, over: reader, in: store.spaces)
    for update in updates {
      let owners = try update.owners(in: overlay)
      try overlay.prepareMembers(of: owners, for: update)
      for owner in owners {
        // An owner of a subentity may have values from several updates.
        let earlier = written[owner.id]
        let values = try update.values(of: owner, in: overlay)
        let row = (earlier?.row ?? owner).setting(values, version: owner.version &+ 1)
        let slots = earlier.map { $0.slots.union(update.slots) } ?? update.slots
        written[owner.id] = Written(row: row, slots: slots, stored: owner)
      }
    }
    for row in overlay.sources where written[row.id] == nil {
      written[row.id] = Written(row: row.setting([:], version: row.version &+ 1), slots: SlotSet(), stored: row)
    }
  }
}

extension Row {
  fileprivate func setting(_ values: [Int: AttributeValue], version: Int64) -> Row {
    Row.make(id: id, entity: entity, version: version) { writer in
      for slot in 0..<count { writer.append(values[slot] ?? self[slot]) }
    }
  }
}
