public import CoherenceCore
import CoherenceStrategies
import Synchronization

extension GenericConnect {
  public final var suspended: Bool {
    get { dispatcher.isSuspended }
    set {
      dispatcher.isSuspended = newValue
      if newValue { lifecycle.withLock { $0.stop }?.cancelSuspended() }
      suspensionStreams.send { newValue }
    }
  }

  /// Whether waiting actions on the entity's hierarchy continue to wait, because the hierarchy or the Connect is suspended.
  /// May be called from any thread.
  public final func isSuspended(_ entity: EntityDescription) -> Bool { dispatcher.isSuspended(entity) }

  /// Suspends or resumes the waiting actions on one hierarchy. Running actions continue. While the whole Connect is
  /// suspended, resuming a hierarchy has no effect yet. May be called from any thread.
  public final func setSuspended(_ isSuspended: Bool, for entity: EntityDescription) {
    dispatcher.setSuspended(isSuspended, for: entity)
    if isSuspended { lifecycle.withLock { $0.stop }?.cancelSuspended() }
  }

  public final var pendingEdits: (any PendingEdits)? {
    get { pendingEditsSource.withLock { $0 } }
    set {
      // Released after the lock: the `deinit` of the former source may use this Connect.
      let former = pendingEditsSource.withLock { exchange(&$0, with: newValue) }
      withExtendedLifetime(former) {}
    }
  }

  public final func isManaged(_ entity: EntityDescription) -> Bool { dispatcher.managed.contains(entity) }

  public final func uniquenessAttributes(for entity: EntityDescription) -> [String] {
    EntityUniqueness(entity: entity).attributes
  }

  /// Makes the context of an entity action. The context may merge managed entities, counts its work, and resolves conflicts
  /// in favor of the properties that the action has set.
  package final func newActionContext() -> ActionContext {
    let context = container.newGenericBackgroundContext(ActionContext.self)
    context.mergePolicy = .objectTrumps
    context.managed = dispatcher.mergeable
    context.view = viewContext
    context.pendingEdits = pendingEdits
    return context
  }

  /// Manages the entities of the attached stores if the Connect is started. Stores during their detachment do not count.
  ///
  /// - Parameter stores: The stores whose entities are logged.
  func manageEntities(of attachments: [StoreAttachment], logging stores: [any PersistentStore] = []) {
    guard state == .started else { return }
    let remaining = persistentStoreCoordinator.persistentStores.filter { store in
      !attachments.contains { $0.store === store && $0.pendingDetachCount > 0 }
    }
    let managed = ManagedEntities(of: remaining, model: managedObjectModel)
    for store in stores { managed.log(store, model: managedObjectModel, to: logger) }
    dispatcher.manage(managed, model: managedObjectModel)
  }
}
