import CoherenceCore
import CoherenceStrategies
import Synchronization

extension GenericConnect {
  public final var suspended: Bool {
    get { state.withLock { $0.isSuspended } }
    set {
      let queues = state.withLock { state in
        state.isSuspended = newValue
        return Array(state.queues.values)
      }
      for queue in queues + [genericActions] { queue.isSuspended = newValue }
    }
  }

  public final func isManaged(_ entity: EntityDescription) -> Bool { state.withLock { $0.managed.contains(entity) } }

  public final func uniquenessAttributes(for entity: EntityDescription) -> [String] {
    EntityUniqueness(entity: entity).attributes
  }

  /// Makes the context of an entity action: it may merge managed entities, counts what it does, and in a conflict the
  /// properties that the action set win.
  package final func newActionContext() -> ActionContext {
    let context = container.newGenericBackgroundContext(ActionContext.self)
    context.mergePolicy = .objectTrumps
    context.managed = state.withLock { $0.managed }
    return context
  }
}
