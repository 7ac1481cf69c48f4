extension ManagedObjectContext {
  /// The parents' unsaved edits of a record, the nearest parent first.
  final func parentEdits(of id: ManagedObjectID) -> [ParentEdits] {
    ancestors.compactMap { context in
      let storage = context.storage
      return storage.withPending { storage.recordUnderLock(for: id).flatMap { ParentEdits($0) } }
    }
  }

  /// A record's row as this context sees it: a stored row with the unsaved edits of parents on top. A stored value that a
  /// save has changed since the parent's edit stays.
  ///
  /// - Parameter written: The slots that this context has saved itself.
  final func throughParents(_ row: Row, except written: SlotSet = SlotSet()) -> Row {
    var values: [AttributeValue]?
    for context in ancestors.reversed() {
      let storage = context.storage
      storage.withPending {
        guard let record = storage.recordUnderLock(for: row.id), record.kind == .updated else { return }
        for slot in record.changed where slot < row.count && !written.contains(slot) {
          let origin = record.overtaken?[slot] ?? record.base?[slot]
          guard origin == values?[slot] ?? row[slot] else { continue }
          values = values ?? row.values
          values?[slot] = record[slot]
        }
      }
    }
    guard let values else { return row }
    return Row.make(id: row.id, entity: row.entity, version: row.version, values: values)
  }

  /// The parents, the nearest first.
  final var ancestors: [ManagedObjectContext] {
    var result: [ManagedObjectContext] = []
    var ancestor = parent
    while let context = ancestor {
      result.append(context)
      ancestor = context.parent
    }
    return result
  }
}
