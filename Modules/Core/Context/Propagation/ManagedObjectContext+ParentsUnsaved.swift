// Objects and lists that a child has loaded show later unsaved changes of its parents only after they are read again.
// The live results of the child evaluate their records then, although no record has changed since.

extension ManagedObjectContext {
  /// Has the live results evaluate the owners of lists that the context drops: the lists of the next reads have the
  /// unsaved members of the parents.
  ///
  /// Without unsaved records the call costs nothing, otherwise one pass over the registered objects.
  ///
  /// - Parameter relationships: The relationships of the dropped lists; `nil` for all.
  final func touchOwners(ofListsOf relationships: Set<RelationshipDescription>? = nil) {
    guard parent != nil, storage.isTouchTracked, relationships?.isEmpty != true,
      !UnsavedHierarchies(in: self).isEmpty
    else { return }
    for object in storage.registry.all {
      guard let lists = object.collections else { continue }
      if let relationships, relationships.isDisjoint(with: lists.keys) { continue }
      storage.touch(object.recordID)
    }
  }

  /// Has the live results evaluate the records of clean objects that do not show the unsaved edits of the parents, or that
  /// show edits that a parent has dropped since. Called before the objects become faults or leave the context. Their next
  /// values are other values, at an equal version.
  final func touchHiddenEdits(of objects: [ManagedObject]) {
    guard parent != nil, storage.isTouchTracked else { return }
    let unsaved = UnsavedHierarchies(in: self)
    for object in objects where object.pending == nil {
      guard let row = object.row else { continue }
      if unsaved.contains(object.entity.root), let inherited = inheritedRecord(of: object.recordID) {
        if !inherited.isDeleted, inherited.row.values != row.values { storage.touch(object.recordID) }
      } else if row.id.space.rows.row(row.key)?.isIdentical(to: row) != true {
        // The contexts share the rows of the stores. A row with edits belongs to one context.
        storage.touch(object.recordID)
      }
    }
  }
}
