/// An activity of a context, reported with its duration.
package enum ContextActivity: Sendable, Hashable {
  /// An outermost block of `perform` or `performAndWait`.
  case block
  /// A fetch; a failed one finds no records.
  case fetch(records: Int)
  /// A save; a failed one changes no records.
  case save(inserted: Int, updated: Int, deleted: Int)

  /// The numbers in reports to observers.
  var records: [String: Int] {
    switch self {
    case .block: [:]
    case .fetch(let records): ["fetched": records]
    case .save(let inserted, let updated, let deleted):
      ["inserted": inserted, "updated": updated, "deleted": deleted]
    }
  }
}

/// Receives the activities of a context and their durations, in the context.
package protocol ContextActivityObserver: AnyObject, Sendable {
  /// Called after an activity has ended.
  func contextDid(_ activity: ContextActivity, in duration: Duration)
}
