extension ManagedObjectContext {
  /// Whether a save, a batch request or a claim of the context, or of a child that saves past it, has written
  /// changes or may have written them. Callers that retry failed work read it, because a retry would write twice. May
  /// be read on any thread.
  package final var mayHaveCommitted: Bool { storage.saveNumber.mayHaveCommitted }

  /// Records that a store, or a parent, has changes of the context, or may have them.
  final func noteCommit() { storage.saveNumber.noteCommit() }
}
