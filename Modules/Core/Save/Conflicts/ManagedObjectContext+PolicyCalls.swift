// The calls of a user's merge policy in the middle of a save.

extension ManagedObjectContext {
  /// Runs a block that calls the closure of a ``MergePolicy/custom(_:)`` policy. The closure may read objects of the
  /// context, but not change them.
  ///
  /// The rows of the save were gathered and validated before this call. A change made now would not be in these rows,
  /// but the commit would mark its object as clean. The inbox waits until the block returns, because its changes rebase
  /// unsaved records onto other rows.
  ///
  /// - Parameter saved: The changes of the save.
  /// - Throws: ``ErrorCode/illegalState`` for a change of an object; the errors of the block.
  final func refusingChanges<T>(of saved: [RecordChange], _ body: () throws -> T) throws -> T {
    try refusingChanges(counting: { saved.count(where: \.isAsGathered) }, body)
  }

  /// As ``refusingChanges(of:_:)``.
  ///
  /// - Parameter countUnchanged: Returns the number of changes of the save that the block has left alone.
  final func refusingChanges<T>(counting countUnchanged: () -> Int, _ body: () throws -> T) throws -> T {
    let count = countUnchanged()
    storage.callbacks.isInPolicy = true
    defer { storage.callbacks.isInPolicy = false }
    var result: T?
    let isChanged = try storage.isChanged { result = try body() }
    // A rollback or a refresh in the closure counts as no change, but records of the save lose their changes or get
    // other bases.
    guard let result, !isChanged, countUnchanged() == count else {
      throw CoherenceError(
        .illegalState,
        "The closure of a merge policy changed objects of the context that saves; return the values of the record in "
          + "conflict instead, and change other objects before or after the save.")
    }
    return result
  }

  /// Refuses a save that the closure of a merge policy begins in the context whose save called the closure.
  final func refuseSaveByPolicy() throws(CoherenceError) {
    guard storage.callbacks.isInPolicy else { return }
    throw CoherenceError(
      .illegalState,
      "The closure of a merge policy saves the context whose save called the closure; save another context, or save "
        + "after the closure has returned.")
  }
}
