public import CoherenceCore
public import CoherenceStrategies

/// The context of an entity action: counts what it does, and merges records from elsewhere into the stores.
///
/// A ``Connect`` makes one for each execution of an ``EntityAction``. In a conflict with what somebody else saved, the
/// properties that the action set win, one by one.
public final class ActionContext: BackgroundContext, @unchecked Sendable {
  // Sendable: as the base class is; the properties here are set before the context's first use.
  let counter = ContextActivityCounter()
  var managed = ManagedEntities()
  weak var execution: AnyActionHandle?
  /// The context of the user's edits.
  weak var view: ManagedObjectContext?

  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    super.init(concurrencyType: concurrencyType)
    activityObserver = counter
  }

  /// What was done in this context up to now.
  public var statistics: ContextStatistics { counter.statistics }

  /// Whether the action was canceled, or its time is over. A merge looks at this before it saves.
  public var isCanceled: Bool { execution?.hasToEnd == true }
}
