// Records as they are read, without making objects of them.

extension ManagedObjectContext {
  /// Reads the records that a request finds, saved and unsaved, in its order and range, some at a time. Rows are states
  /// of records as this context sees them; a row that nobody keeps costs no place in a cache.
  ///
  /// - Throws: As ``fetch(_:)``, and what the block throws.
  package final func forEachRow<R: ManagedObject>(
    of request: FetchRequest<R>, _ body: ([Row]) throws -> Void
  ) throws {
    _ = try operating {
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        takeInIfMain()
        var count = 0
        try forEachRow(of: FetchPlan(request, in: self)) { rows in
          count += rows.count
          try body(rows)
        }
        return count
      } as: {
        .fetch(records: $0)
      }
    }
  }

  private final func forEachRow(of plan: FetchPlan, _ body: ([Row]) throws -> Void) throws {
    if plan.needsOverlay {
      try body(wantedStates(plan).map(\.row))
    } else if plan.stores.count == 1 {
      try forEachStoredBatch(plan, isSharing: false, body)
    } else {
      try body(storedRows(plan))
    }
  }

  /// Whether the caller runs on the main actor, where main-queue contexts are used.
  package static var isOnMain: Bool { Confinement.isOnMain }
}
