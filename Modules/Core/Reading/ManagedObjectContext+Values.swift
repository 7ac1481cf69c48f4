// Values of records as they are read, without making objects, or rows, of them.

extension ManagedObjectContext {
  /// Reads values of the records that a request finds, saved and unsaved, in its order and range, as this context sees
  /// them.
  ///
  /// - Throws: As ``fetch(_:)``, and what the sink throws.
  package final func read<R: ManagedObject>(_ request: FetchRequest<R>, into sink: any ValueSink) throws {
    try operating {
      let known = sink.count
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        takeInIfMain()
        try read(FetchPlan(request, in: self), into: sink)
      } as: { _ in
        .fetch(records: sink.count - known)
      }
    }
  }

  private final func read(_ plan: FetchPlan, into sink: any ValueSink) throws {
    if plan.needsOverlay {
      for state in try wantedStates(plan) { try sink.put { state[$0] } }
    } else if plan.stores.count == 1 {
      try readStored(plan, into: sink)
    } else {
      for row in try storedRows(plan) { try sink.put(row) }
    }
  }

  private final func readStored(_ plan: FetchPlan, into sink: any ValueSink) throws {
    let fetch = try reader(for: plan.stores[0]).fetch(plan.query)
    if fetch.isExact, let cursor = fetch.cursor as? any ValueCursor { return try drain(cursor, into: sink) }
    try forEachBatch(of: fetch, plan, isSharing: false) { for row in $0 { try sink.put(row) } }
  }

  private final func drain(_ cursor: any ValueCursor, into sink: any ValueSink) throws {
    var isOpen = true
    defer { if isOpen { cursor.close() } }
    while isOpen {
      if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled during a fetch.") }
      isOpen = try cursor.next(into: sink)
    }
  }

  /// Whether the caller runs on the main actor, where main-queue contexts are used.
  package static var isOnMain: Bool { Confinement.isOnMain }
}
