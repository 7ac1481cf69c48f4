public import CoherenceCore
import CoherenceReconciliation
import CoherenceStrategies

extension PersistenceManager {
  /// The context of the main actor, for reading. It follows all saves of the manager, except in a container with the
  /// strategy `DirectIndependent`.
  public final var mainContext: ManagedObjectContext { container.viewContext }

  /// A new context with its own queue, for one piece of work. Each call returns another context.
  public final var workerContext: ManagedObjectContext {
    let context = container.newBackgroundContext()
    context.mergePolicy = mergePolicy
    threadContexts.follow(context)
    return context
  }

  /// Returns the context for reading on the calling thread: ``mainContext`` on the main actor, elsewhere a context that
  /// belongs to the thread as long as the thread and the manager live. It follows all saves of the manager.
  ///
  /// The context and its records may be used on this thread alone, without `perform`. A task may change threads at each
  /// `await`, so it uses ``workerContext`` or the asynchronous methods.
  @available(*, noasync, message: "A task has no thread of its own; use `workerContext`, or fetch models.")
  public final func contextForThread() -> ManagedObjectContext { threadContext() }

  /// Returns the context of ``contextForThread()``.
  final func threadContext() -> ManagedObjectContext {
    if ManagedObjectContext.isOnMain { return mainContext }
    return threadContexts.current {
      let context = ManagedObjectContext(
        concurrencyType: .currentThread, coordinator: container.persistentStoreCoordinator)
      context.mergePolicy = mergePolicy
      mainContext.follow(context)
      return context
    }
  }
}

// MARK: - Working in a context

extension PersistenceManager {
  /// Returns the given context, or a new one.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext`` for a context of another
  ///   stack.
  private func context(_ given: ManagedObjectContext?) throws -> ManagedObjectContext {
    let coordinator = container.persistentStoreCoordinator
    guard !coordinator.persistentStores.isEmpty else {
      throw CoherenceError(
        .contextWithoutStore, "'\(modelName)' is not loaded; call `load` and wait until it returns.")
    }
    guard let given else { return workerContext }
    guard given.persistentStoreCoordinator === coordinator else {
      throw CoherenceError(
        .wrongContext, "The context belongs to another stack than '\(modelName)'; use a context of this manager.")
    }
    return given
  }

  /// Performs work in a context.
  final func working<T>(
    in given: ManagedObjectContext? = nil, _ body: (ManagedObjectContext) throws -> T
  ) throws -> T {
    let context = try context(given)
    return try context.performAndWait { try body(context) }
  }

  /// Reads in the given context. By default, reads in the main context on the main actor, which needs no waiting, and
  /// elsewhere in a new context.
  final func reading<T>(
    in given: ManagedObjectContext?, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try working(in: given ?? (ManagedObjectContext.isOnMain ? mainContext : nil)) {
      try body(PersistenceTransaction(context: $0))
    }
  }

  /// Performs changes and saves them, with other changes of the context, up to the stores. After an error, contexts
  /// without other changes are rolled back.
  ///
  /// In the context of a running transaction the changes become a part of the transaction, which saves them at its end.
  final func writing<T>(
    in given: ManagedObjectContext? = nil, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try working(in: given) { context in
      if let state = TransactionState.of(context) {
        return try state.failing { try body(PersistenceTransaction(context: context, state: state)) }
      }
      return try PlanningRetry(in: context, savesParents: true).rollingBackOnError {
        let state = TransactionState()
        let result = try state.run(in: context) { try body(PersistenceTransaction(context: context, state: state)) }
        try state.check()
        // The save is outside the transaction, because an observer of the save may save changes of its own.
        try state.failsOnConflicts ? context.throwingOnConflicts { try context.saveUpwards() } : context.saveUpwards()
        return result
      }
    }
  }

  /// Performs changes that depend on the records that they read, and saves them as ``writing(in:_:)`` does. After a
  /// lost race to another writer, the changes are planned again from the newer records. In a context with other
  /// changes, and in a transaction, they are planned once.
  ///
  /// - Parameter entityName: The entity of the records.
  final func planning<T>(
    _ entityName: String, in given: ManagedObjectContext?, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try working(in: given) { context in
      guard TransactionState.of(context) == nil,
        let entity = container.managedObjectModel.entitiesByName[entityName]
      else { return try writing(in: context, body) }
      return try PlanningRetry(in: context, savesParents: true).planningAgain(afterRacesOver: entity) {
        try writing(in: context, body)
      }
    }
  }

  /// Processes records in batches, one transaction for each batch, until a batch is not full.
  ///
  /// - Parameter body: Processes at most `limit` records, and returns their number.
  /// - Returns: The number of processed records.
  final func inBatches(
    of size: Int, in given: ManagedObjectContext?, _ body: (PersistenceTransaction, _ limit: Int) throws -> Int
  ) throws -> Int {
    let size = max(size, 1)
    let context = try context(given)
    var total = 0
    while true {
      let count = try writing(in: context) { try body($0, size) }
      total += count
      if count < size { return total }
    }
  }
}

// MARK: - For synchronisation

extension PersistenceManager {
  /// Changes synchronisation marks and saves them as ``planning(_:in:_:)`` does. Every conflict with another writer is
  /// a lost race, regardless of the merge policy.
  final func marking<T>(
    _ entityName: String, in given: ManagedObjectContext?, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try planning(entityName, in: given) { transaction in
      transaction.state.failOnConflicts()
      return try body(transaction)
    }
  }
}

extension ManagedObjectContext {
  /// Saves as ``saveChangesAndWait()`` does, but stops before a context with a running transaction of the caller.
  fileprivate func saveUpwards() throws {
    var next = try saveOneLevel()
    while let context = next, TransactionState.of(context) == nil {
      next = try context.performAndWait { try context.saveOneLevel() }
    }
  }

  /// Runs a save while the context and the parents that it saves have the merge policy ``MergePolicy/error``, so that
  /// the save throws at a conflict instead of resolving it.
  fileprivate func throwingOnConflicts(_ body: () throws -> Void) rethrows {
    let policies = savedContexts.map { ($0, $0.mergePolicy) }
    for (context, _) in policies { context.mergePolicy = .error }
    defer { for (context, policy) in policies { context.mergePolicy = policy } }
    try body()
  }
}
