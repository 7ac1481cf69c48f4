extension ManagedObjectContext {
  /// The parents' unsaved edits of a record, the nearest parent first.
  final func parentEdits(of id: ManagedObjectID) -> [ParentEdits] {
    var result: [ParentEdits] = []
    var ancestor = parent
    while let context = ancestor {
      let storage = context.storage
      if let edits = storage.withPending({ storage.recordUnderLock(for: id).flatMap { ParentEdits($0) } }) {
        result.append(edits)
      }
      ancestor = context.parent
    }
    return result
  }

  /// The slots of a record that parents have edited.
  final func slotsEditedByParents(of id: ManagedObjectID) -> SlotSet {
    parentEdits(of: id).reduce(SlotSet()) { $0.union($1.slots) }
  }
}
