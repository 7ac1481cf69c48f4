/// An object whose insert an undo takes back only before a save, such as a persisted action: once it is saved, other
/// writers change its record, so that a delete of the record would be a conflict, and an insert would repeat its work.
///
/// The save removes the insert and the values of the object from the ``UndoHistory`` of the saving context.
package protocol KeptByUndo: ManagedObject {}
