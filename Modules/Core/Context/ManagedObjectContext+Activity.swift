extension ManagedObjectContext {
  /// Runs work and reports it with its duration to the observers, also when it throws.
  ///
  /// - Parameter operation: The operation for the stack's observer; `nil` for work that the stack does not report.
  @inline(__always) final func measured<T>(
    _ operation: @autoclosure () -> StackOperation?, ifFailed failure: ContextActivity, _ work: () throws -> T,
    as activity: (T) -> ContextActivity
  ) rethrows -> T {
    guard isObserved else { return try work() }
    return try reportingOutcome(operation(), ifFailed: failure, work, as: activity)
  }

  /// Whether an observer may be set. Also `true` if only another stack of the process has one.
  @inline(__always) final var isObserved: Bool { activityObserver != nil || StackObservers.exist }

  @inline(never) private final func reportingOutcome<T>(
    _ operation: StackOperation?, ifFailed failure: ContextActivity, _ work: () throws -> T,
    as activity: (T) -> ContextActivity
  ) rethrows -> T {
    let start = ContinuousClock.now
    var done = failure
    defer { activityObserver?.contextDid(done, in: start.duration(to: .now)) }
    let result: T
    if let operation, let observer = persistentStoreCoordinator?.observer {
      result = try observer.began(operation).reportingOutcome(work) { activity($0).records }
    } else {
      result = try work()
    }
    done = activity(result)
    return result
  }

  /// The activity of saving the present unsaved records.
  final var pendingSave: ContextActivity {
    let kinds = storage.records.filter { !$0.isUnchanged }.map(\.kind)
    return .save(
      inserted: kinds.count { $0 == .inserted }, updated: kinds.count { $0 == .updated },
      deleted: kinds.count { $0 == .deleted })
  }
}
