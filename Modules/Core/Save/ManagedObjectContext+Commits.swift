extension ManagedObjectContext {
  /// Whether the context has written something, or may have: by a save, a batch request or a claim, of its own or of a
  /// child that saves through it. Work that would repeat such a write is not repeated. May be read on any thread.
  package final var mayHaveCommitted: Bool { storage.saveNumber.mayHaveCommitted }

  /// Records that a store, or a parent, has changes of the context, or may have them.
  final func noteCommit() { storage.saveNumber.noteCommit() }
}
