public import CoherenceCore
import CoherenceStrategies
import Synchronization

extension GenericConnect {
  public final var suspended: Bool {
    get { dispatcher.isSuspended }
    set {
      dispatcher.isSuspended = newValue
      if newValue { lifecycle.withLock { $0.stop }?.cancelSuspended() }
    }
  }

  /// Whether actions on the entity's hierarchy wait, for its own sake or because the Connect is suspended.
  public final func isSuspended(_ entity: EntityDescription) -> Bool { dispatcher.isSuspended(entity) }

  /// Suspends, or resumes, the actions on one hierarchy. Those of a suspended Connect wait all the same.
  public final func setSuspended(_ isSuspended: Bool, for entity: EntityDescription) {
    dispatcher.setSuspended(isSuspended, for: entity)
    if isSuspended { lifecycle.withLock { $0.stop }?.cancelSuspended() }
  }

  public final func isManaged(_ entity: EntityDescription) -> Bool { dispatcher.managed.contains(entity) }

  public final func uniquenessAttributes(for entity: EntityDescription) -> [String] {
    EntityUniqueness(entity: entity).attributes
  }

  /// Makes the context of an entity action: it may merge managed entities, counts what it does, and in a conflict the
  /// properties that the action set win.
  package final func newActionContext() -> ActionContext {
    let context = container.newGenericBackgroundContext(ActionContext.self)
    context.mergePolicy = .objectTrumps
    context.managed = dispatcher.served
    context.view = viewContext
    return context
  }

  /// Manages the entities of the attached stores but for stores about to be detached, if started.
  func manageEntities(of attachments: [StoreAttachment], logging stores: [any PersistentStore] = []) {
    guard state == .started else { return }
    let staying = persistentStoreCoordinator.persistentStores.filter { store in
      !attachments.contains { $0.store === store && $0.leaving > 0 }
    }
    let managed = ManagedEntities(of: staying, model: managedObjectModel)
    for store in stores { managed.log(store, model: managedObjectModel, to: logger) }
    dispatcher.manage(managed, model: managedObjectModel)
  }
}
