public import CoherenceCore
public import CoherenceStrategies

/// The context of an entity action: counts the work done in it, and merges records of other sources into the stores.
///
/// A ``Connect`` makes a context for each attempt of an ``EntityAction``. When a save meets a conflict with the save of
/// another context, the properties that the action has set win, property by property.
///
/// The context's saves are not shown to the participants of the coordinator, because most actions write the data of a
/// server, which is not to be echoed. An action whose changes are edits of the user sets `recordsChanges`.
public final class ActionContext: BackgroundContext, @unchecked Sendable {
  // Sendable: as the base class is; the properties here are set before the context's first use.
  let counter = ContextActivityCounter()
  /// The default of ``MergeOptions/requestedAt``: the request for a merge's input began no earlier.
  let madeAt = ContinuousClock.now
  /// The entities that the action may merge: managed by its Connect, with identifying attributes.
  var managed = ManagedEntities()
  /// The action that the context was made for.
  weak var execution: (any ActionExecution)?
  /// The context of the user's edits.
  weak var view: ManagedObjectContext?
  /// The source of local edits that merges in this context respect.
  var pendingEdits: (any PendingEdits)?

  /// Makes a context without a coordinator or parent, which a container or strategy sets.
  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    super.init(concurrencyType: concurrencyType)
    activityObserver = counter
    recordsChanges = false
    // An action may be a refresh, whose own fetches must not ask for another.
    reportsFetches = false
  }

  /// The counts and times of the work done in this context so far. May be read from any thread.
  public var statistics: ContextStatistics { counter.statistics }

  /// Whether the action was cancelled, or its timeout has passed. A merge checks this before it saves. May be read from
  /// any thread.
  public var isCanceled: Bool { execution?.isCanceledOrExpired == true }
}
