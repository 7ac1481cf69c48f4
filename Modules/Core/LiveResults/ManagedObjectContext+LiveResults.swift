extension ManagedObjectContext {
  /// The result of a request, again and again: first as it is, then after each change of it.
  ///
  /// ```swift
  /// for try await tracks in try context.values(of: FetchRequest(Track.self).sort(\.title)) {
  ///   titles = try await context.perform { try tracks.objects(in: $0).map(\.title) }
  /// }
  /// ```
  /// Each element is the result that ``fetchIDs(_:)`` would return in this context: saves of every context of the
  /// coordinator, batch requests, and the unsaved changes of this context and its parents count, the latter at the end of
  /// the outermost `perform`, or soon after a change that a main-queue context makes without `perform`. Writes of other
  /// coordinators and processes count from ``refresh(_:mergeChanges:)``, ``refreshAll()`` and ``reset()`` on. A state with
  /// equal identifiers follows when values of a listed record changed. Objects without unsaved changes take newer values of
  /// listed records.
  ///
  /// While nobody waits, states are merged: the next element is the newest state. The context does its part of the work in
  /// its own turn, so that a main-queue context needs a running main queue.
  ///
  /// Cost: the request is run once. Afterwards a change of a listed record, or of a property that the request reads, costs
  /// the evaluation of the changed records, and any other change costs nothing. A change of a record behind to-one
  /// relationships costs a read of the records that lead there. The request is run again after changes that cannot be
  /// followed back: of members of other lists than the records' own, of more than 200 related records at once, after
  /// ten thousand changes that the context had no turn for, for a signal of another process, and when deletes have used up
  /// the spare records behind a limit.
  ///
  /// May be called on any thread. The sequence ends with the context, with its task, and when the loop ends. It throws the
  /// error of a failed read, and ``ErrorCode/storeDetached`` when a store of the result was detached; ask for it again then.
  ///
  /// - Parameters:
  ///   - sectionKeyPath: The path of the first sort key, if the result has sections: records with an equal value are one
  ///     section.
  ///   - followingOtherProcesses: Whether the result is read again when the store tells of writes of other processes. A
  ///     SQLite store is asked ten times a second then; a PostgreSQL store has a further connection, and tells of signals of
  ///     ``PersistentStoreCoordinator/liveResultsChannel``.
  /// - Throws: The errors of a fetch for a faulty request, before any read; ``ErrorCode/wrongContext`` for a context that
  ///   belongs to a thread.
  public final func values<Result>(
    of request: FetchRequest<Result>, sectionKeyPath: String? = nil, followingOtherProcesses: Bool = false
  ) throws -> ResultValues<Result> {
    ResultValues(source: try liveSource(request, sectionKeyPath, followingOtherProcesses))
  }

  /// The changes of the result of a request, with indexes, for lists on a screen.
  ///
  /// The first element leads from the empty list to the present result. Each further element leads from the state that was
  /// delivered last to the newest one; while nobody waits, changes are merged. No element is empty, except the first one of
  /// an empty result. Otherwise as ``values(of:sectionKeyPath:followingOtherProcesses:)``.
  ///
  /// - Throws: As ``values(of:sectionKeyPath:followingOtherProcesses:)``.
  public final func changes<Result>(
    of request: FetchRequest<Result>, sectionKeyPath: String? = nil, followingOtherProcesses: Bool = false
  ) throws -> ResultChangeSequence<Result> {
    ResultChangeSequence(source: try liveSource(request, sectionKeyPath, followingOtherProcesses))
  }
}
