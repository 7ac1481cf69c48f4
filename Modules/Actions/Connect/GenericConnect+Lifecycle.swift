import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Logging
import Synchronization

extension GenericConnect {
  public final func start() throws {
    try attachments.withLock { attachments in
      guard !state.withLock({ $0.isStarted }) else {
        return logger.warning("Already started.", metadata: ["connect": "\(name)"])
      }
      try attachMissing(&attachments)
      state.withLock { $0.isStarted = true }
      manageEntities(logging: persistentStoreCoordinator.persistentStores)
      logger.info("Started.", metadata: ["connect": "\(name)"])
    }
  }

  public final func stop() throws {
    let queues = attachments.withLock { _ in
      state.withLock { state in
        guard state.isStarted else { return nil as [ActionQueue]? }
        state.isStarted = false
        return state.manage(ManagedEntities(), model: managedObjectModel)
      }
    }
    guard let queues else { return logger.warning("Already stopped.", metadata: ["connect": "\(name)"]) }
    drain(queues)
    try attachments.withLock { attachments in
      // Somebody may have started again while actions were waited for.
      guard !state.withLock({ $0.isStarted }) else { return }
      try detachAll(&attachments)
    }
    logger.info("Stopped.", metadata: ["connect": "\(name)"])
  }

  // MARK: Stores

  /// Attaches what an earlier stop detached, or the default store when there is none at all: all of it, or nothing.
  private func attachMissing(_ attachments: inout [StoreAttachment]) throws {
    var wanted = attachments
    if wanted.isEmpty, persistentStoreCoordinator.persistentStores.isEmpty {
      wanted = [StoreAttachment(directory: storeLocation, configuration: StoreConfiguration())]
    }
    var fresh: [any PersistentStore] = []
    do {
      for index in wanted.indices where wanted[index].store == nil {
        let store = try container.attachPersistentStore(
          at: wanted[index].directory, for: wanted[index].configuration)
        wanted[index].store = store
        fresh.append(store)
      }
    } catch {
      for store in fresh.reversed() { try? persistentStoreCoordinator.remove(store) }
      throw error
    }
    attachments = wanted
  }

  /// Detaches every store of the coordinator and remembers it, those that were added behind this Connect's back too.
  private func detachAll(_ attachments: inout [StoreAttachment]) throws {
    let stores = persistentStoreCoordinator.persistentStores
    attachments.removeAll { known in known.store.map { store in !stores.contains { $0 === store } } == true }
    var failure: (any Error)?
    for store in stores {
      let index = attachments.firstIndex { $0.store === store }
      do {
        try container.detach(persistentStore: store)
      } catch {
        failure = failure ?? error
      }
      if let index { attachments[index].store = nil } else { attachments.append(attachment(of: store)) }
    }
    if let failure { throw failure }
  }

  private func attachment(of store: any PersistentStore) -> StoreAttachment {
    let configuration = StoreConfiguration(
      name: store.configurationName, type: store.type, options: store.environment.options, location: store.url)
    return StoreAttachment(directory: storeLocation, configuration: configuration)
  }

  // MARK: Entities

  /// Manages the entities of the attached stores, if started.
  ///
  /// - Returns: The queues that are out of use, to be drained when no lock is held.
  @discardableResult
  func manageEntities(
    logging stores: [any PersistentStore] = [], without leaving: [any PersistentStore] = []
  ) -> [ActionQueue] {
    guard state.withLock({ $0.isStarted }) else { return [] }
    let staying = persistentStoreCoordinator.persistentStores.filter { store in
      !leaving.contains { $0 === store }
    }
    let managed = ManagedEntities(of: staying, model: managedObjectModel)
    for store in stores { managed.log(store, model: managedObjectModel, to: logger) }
    return state.withLock { $0.manage(managed, model: managedObjectModel) }
  }

  /// Cancels what is in queues and waits for its end. An action that calls this does not wait: it would for itself.
  ///
  /// Called without a lock: the actions that are waited for may attach stores.
  func drain(_ queues: [ActionQueue]) {
    let executions = queues.flatMap { $0.cancelAll() }
    guard ActionExecution.current == nil else { return }
    let group = DispatchGroup()
    for execution in executions {
      group.enter()
      execution.whenFinished { group.leave() }
    }
    group.wait()
  }
}
