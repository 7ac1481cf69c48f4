public import CoherenceCore
import CoherenceReconciliation
import CoherenceStrategies

extension PersistenceManager {
  /// The context of the main actor, meant for reading. It follows what is saved.
  public final var mainContext: ManagedObjectContext { container.viewContext }

  /// A new context with a queue of its own, for a short piece of work, writing included.
  public final var workerContext: ManagedObjectContext {
    let context = container.newBackgroundContext()
    context.mergePolicy = mergePolicy
    threadContexts.follow(context)
    return context
  }

  /// The context for reading on the calling thread: ``mainContext`` on the main actor, elsewhere one that belongs to the
  /// thread, the same at each call, for as long as the thread and the manager live. It follows what is saved.
  ///
  /// The context and its records are used on this thread alone, without `perform`. A task changes threads whenever it
  /// waits, so it uses ``workerContext``, or the forms that are awaited.
  @available(*, noasync, message: "A task has no thread of its own; use `workerContext`, or fetch models.")
  public final func contextForThread() -> ManagedObjectContext { threadContext() }

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
  /// A context to work in: the one given, or a new one.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext`` for a context of another stack.
  private func context(_ given: ManagedObjectContext?) throws -> ManagedObjectContext {
    let coordinator = container.persistentStoreCoordinator
    guard !coordinator.persistentStores.isEmpty else {
      throw CoherenceError(
        .contextWithoutStore, "'\(modelName)' is not loaded: call `load` first, and wait until it is done.")
    }
    guard let given else { return workerContext }
    guard given.persistentStoreCoordinator === coordinator else {
      throw CoherenceError(
        .wrongContext, "The context is not one of '\(modelName)'; get it from the manager that is to use it.")
    }
    return given
  }

  /// Does something in a context.
  final func working<T>(
    in given: ManagedObjectContext? = nil, _ body: (ManagedObjectContext) throws -> T
  ) throws -> T {
    let context = try context(given)
    return try context.performAndWait { try body(context) }
  }

  /// Reads in the context given; without one, where nothing has to be waited for: in the main context on the main actor,
  /// else in a new one.
  final func reading<T>(
    in given: ManagedObjectContext?, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try working(in: given ?? (ManagedObjectContext.isOnMain ? mainContext : nil)) {
      try body(PersistenceTransaction(context: $0))
    }
  }

  /// Does something and saves it, with what else the context has to save, up to the stores. After an error, contexts that
  /// had nothing to save before have nothing to save again.
  ///
  /// In a context whose transaction is at work it becomes a part of that, which saves it with the rest.
  final func writing<T>(
    in given: ManagedObjectContext? = nil, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try working(in: given) { context in
      if let fate = TransactionFate.of(context) {
        return try fate.deciding { try body(PersistenceTransaction(context: context, fate: fate)) }
      }
      return try PlannedChanges(in: context, savesParents: true).rollingBackOnError {
        let fate = TransactionFate()
        let result = try fate.begin(in: context) { try body(PersistenceTransaction(context: context, fate: fate)) }
        try fate.check()
        // Not a part of the transaction any more: who hears of the save may save something else.
        try fate.isStrict ? context.strictly { try context.saveUpwards() } : context.saveUpwards()
        return result
      }
    }
  }

  /// Does something that rests on the records that it reads, and saves it as ``writing(in:_:)`` does. When the save loses a
  /// race to another writer, the whole is done again with the records that there are by then. In a context with other
  /// changes, and as a part of a transaction, it is done once.
  ///
  /// - Parameter entityName: The entity of the records.
  final func planning<T>(
    _ entityName: String, in given: ManagedObjectContext?, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try working(in: given) { context in
      guard TransactionFate.of(context) == nil,
        let entity = container.managedObjectModel.entitiesByName[entityName]
      else { return try writing(in: context, body) }
      return try PlannedChanges(in: context, savesParents: true).planningAgain(afterRacesOver: entity) {
        try writing(in: context, body)
      }
    }
  }

  /// Does something to so many records in one transaction, until there are no more.
  ///
  /// - Parameter body: Does it to at most so many and answers to how many.
  final func inPieces(
    of size: Int, in given: ManagedObjectContext?, _ body: (PersistenceTransaction, _ limit: Int) throws -> Int
  ) throws -> Int {
    let size = max(size, 1)
    let context = try context(given)
    var sum = 0
    while true {
      let count = try writing(in: context) { try body($0, size) }
      sum += count
      if count < size { return sum }
    }
  }
}

// MARK: - For synchronisation

extension PersistenceManager {
  /// Does something with marks of synchronisation and saves it, as ``planning(_:in:_:)`` does. A conflict with what another
  /// writer saved is a lost race, whatever the merge policy.
  final func marking<T>(
    _ entityName: String, in given: ManagedObjectContext?, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try planning(entityName, in: given) { transaction in
      transaction.fate.demandStrictness()
      return try body(transaction)
    }
  }
}

extension ManagedObjectContext {
  /// Saves as ``saveChangesAndWait()`` does, but not beyond a context whose transaction the caller is in.
  fileprivate func saveUpwards() throws {
    var next = try saveOneLevel()
    while let context = next, TransactionFate.of(context) == nil {
      next = try context.performAndWait { try context.saveOneLevel() }
    }
  }

  /// Does something with the merge policy ``MergePolicy/error``.
  fileprivate func strictly(_ body: () throws -> Void) rethrows {
    let policies = savedLineage.map { ($0, $0.mergePolicy) }
    for (context, _) in policies { context.mergePolicy = .error }
    defer { for (context, policy) in policies { context.mergePolicy = policy } }
    try body()
  }
}
