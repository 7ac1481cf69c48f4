extension ManagedObjectContext {
  /// Returns the states of a request's result: the present state, and a new state after each change.
  ///
  /// ```swift
  /// for try await tracks in try context.values(of: FetchRequest(Track.self).sort(\.title)) {
  ///   titles = try await context.perform { try tracks.objects(in: $0).map(\.title) }
  /// }
  /// ```
  /// Each element is the result that ``fetchIDs(_:)`` would return in this context. The result follows saves of every
  /// context of the coordinator, batch requests, and the unsaved changes of this context and its parents. Unsaved
  /// changes appear at the end of the outermost `perform`, or soon after a change that a main-queue context makes
  /// without `perform`. Writes of other coordinators and processes appear after ``refresh(_:mergeChanges:)``,
  /// ``refreshAll()`` and ``reset()``. A state with equal identifiers follows when values of a listed record change.
  /// Objects without unsaved changes take newer values of listed records.
  ///
  /// A slow reader misses intermediate states: the next element is always the newest state. The context updates the
  /// result in its own turn, so that a main-queue context needs a running main queue.
  ///
  /// Cost: the request is run once. Afterwards a change of a listed record, or of a property that the request reads,
  /// costs the evaluation of the changed records, and any other change costs nothing. A change of a record behind
  /// to-one relationships costs a read of the records whose paths lead to it. The request is run again if the affected
  /// records are unknown: after changes of members of other records' lists, changes of more than 200 related records at
  /// once, more than ten thousand changes between two turns of the context, a signal of another process, and deletes
  /// that exhaust the spare records behind a limit. In a child, a request that reads related records is also run again
  /// when the first of them gets unsaved changes, and when none has any more.
  ///
  /// May be called on any thread. The sequence ends with the context, with its task, and when the loop ends. It does not
  /// retain the context: the loop over a context that the program does not keep ends without an element. The iteration
  /// throws the error of a failed read, and ``ErrorCode/storeDetached`` after the detachment of a store of the result;
  /// make a new sequence then.
  ///
  /// - Parameters:
  ///   - sectionKeyPath: The path of the first sort key, if the result has sections: records with an equal value are
  ///     one section.
  ///   - followingOtherProcesses: Whether the request is run again after writes of other processes. The framework then
  ///     polls a SQLite store ten times a second; a PostgreSQL store opens another connection, and receives the signals
  ///     of ``PersistentStoreCoordinator/liveResultsChannel``.
  /// - Throws: The errors of a fetch for an invalid request, before any read; ``ErrorCode/wrongContext`` for a context
  ///   that belongs to a thread.
  public final func values<Result>(
    of request: FetchRequest<Result>, sectionKeyPath: String? = nil, followingOtherProcesses: Bool = false
  ) throws -> ResultValues<Result> {
    ResultValues(source: try liveSource(request, sectionKeyPath, followingOtherProcesses))
  }

  /// Returns the changes of a request's result, with indexes, for lists on a screen.
  ///
  /// The first element leads from the empty list to the present result. Each further element leads from the last
  /// delivered state to the newest state: a slow reader gets several changes as one element. No element is empty,
  /// except the first element of an empty result. Otherwise as ``values(of:sectionKeyPath:followingOtherProcesses:)``.
  ///
  /// - Throws: As ``values(of:sectionKeyPath:followingOtherProcesses:)``.
  public final func changes<Result>(
    of request: FetchRequest<Result>, sectionKeyPath: String? = nil, followingOtherProcesses: Bool = false
  ) throws -> ResultChangeSequence<Result> {
    ResultChangeSequence(source: try liveSource(request, sectionKeyPath, followingOtherProcesses))
  }
}
