/// What a context spent time on.
package enum ContextActivity: Sendable, Hashable {
  /// An outermost block of `perform` or `performAndWait`.
  case block
  /// A fetch; a failed one finds no records.
  case fetch(records: Int)
  /// A save; a failed one changes no records.
  case save(inserted: Int, updated: Int, deleted: Int)
}

/// Is told what a context spent time on, in the context.
package protocol ContextActivityObserver: AnyObject, Sendable {
  func contextDid(_ activity: ContextActivity, in duration: Duration)
}

extension ManagedObjectContext {
  /// Does some work and tells the observer, if there is one, what it was and how long it took, failed or not.
  @inline(__always) final func measured<T>(
    ifFailed failure: ContextActivity, _ work: () throws -> T, as activity: (T) -> ContextActivity
  ) rethrows -> T {
    guard let activityObserver else { return try work() }
    let start = ContinuousClock.now
    var done = failure
    defer { activityObserver.contextDid(done, in: start.duration(to: .now)) }
    let result = try work()
    done = activity(result)
    return result
  }

  /// The save of what is to be saved now.
  final var pendingSave: ContextActivity {
    let kinds = storage.records.filter { !$0.isVoid }.map(\.kind)
    return .save(
      inserted: kinds.count { $0 == .inserted }, updated: kinds.count { $0 == .updated },
      deleted: kinds.count { $0 == .deleted })
  }
}
