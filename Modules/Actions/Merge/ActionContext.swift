import CoherenceCore
import CoherenceStrategies

/// The context of an entity action, which counts its own activity and merges records from other sources into the stores.
///
/// A ``Connect`` makes a context for each execution of an ``EntityAction``. In a conflict with another writer, the properties
/// that the action changed win, and the other properties keep the other writer's values.
public final class ActionContext: BackgroundContext, @unchecked Sendable {
  // Sendable: like the base class; the properties of this class are set before the context is used.
  let counter = ContextActivityCounter()
  var managed = ManagedEntities()
  weak var execution: AnyActionHandle?
  /// The context with the user's edits.
  weak var view: ManagedObjectContext?

  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    super.init(concurrencyType: concurrencyType)
    activityObserver = counter
  }

  /// The activity of this context so far.
  public var statistics: ContextStatistics { counter.statistics }

  /// Whether the action was cancelled, or exceeded its time limit. A merge checks this while it plans, and before it saves.
  public var isCanceled: Bool { execution?.hasToEnd == true }
}
