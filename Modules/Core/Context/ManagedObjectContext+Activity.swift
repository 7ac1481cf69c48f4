extension ManagedObjectContext {
  /// Does some work and reports it and its duration to observers, failed or not.
  ///
  /// - Parameter operation: The operation for the stack's observer; `nil` for unreported work.
  @inline(__always) final func measured<T>(
    _ operation: @autoclosure () -> StackOperation?, ifFailed failure: ContextActivity, _ work: () throws -> T,
    as activity: (T) -> ContextActivity
  ) rethrows -> T {
    guard isObserved else { return try work() }
    return try told(operation(), ifFailed: failure, work, as: activity)
  }

  /// Whether an observer is set. May be `true` without one, because of other stacks of the process.
  @inline(__always) final var isObserved: Bool { activityObserver != nil || StackObservers.exist }

  @inline(never) private final func told<T>(
    _ operation: StackOperation?, ifFailed failure: ContextActivity, _ work: () throws -> T,
    as activity: (T) -> ContextActivity
  ) rethrows -> T {
    let start = ContinuousClock.now
    var done = failure
    defer { activityObserver?.contextDid(done, in: start.duration(to: .now)) }
    let result: T
    if let operation, let observer = persistentStoreCoordinator?.observer {
      result = try observer.began(operation).told(work) { activity($0).records }
    } else {
      result = try work()
    }
    done = activity(result)
    return result
  }

  /// The save of the present unsaved records.
  final var pendingSave: ContextActivity {
    let kinds = storage.records.filter { !$0.isVoid }.map(\.kind)
    return .save(
      inserted: kinds.count { $0 == .inserted }, updated: kinds.count { $0 == .updated },
      deleted: kinds.count { $0 == .deleted })
  }
}
