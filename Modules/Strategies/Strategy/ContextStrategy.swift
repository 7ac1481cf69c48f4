public import CoherenceCore

/// The base of context strategies: keeps what a strategy is made with.
///
/// What every strategy of the framework guarantees:
/// - A save of a background context, and of the view context, is in the stores when it returns.
/// - A save of a background context never saves the edits of the view context.
/// - The view context goes on to show its edits over what a background context saved. A property that both have changed
///   is a conflict when the view is saved, which the view's merge policy reports or resolves; edits of different
///   properties are merged, those of another process and of the last moment too. The view of ``DirectIndependent``, which
///   follows nobody, meets a conflict over different properties too.
/// - A save never waits for the main actor: changes are posted to the view context, which takes them in when it is next
///   entered. A read there, after the save returned, sees them.
open class ContextStrategy {
  /// Where the stores are.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// Where to report errors that nobody waits for.
  public let errorHandler: AsyncErrorHandlerBlock

  public required init(
    persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
  ) {
    self.persistentStoreCoordinator = persistentStoreCoordinator
    self.errorHandler = errorHandler
  }

  /// A background context that reads from and saves to the stores, with nothing in between.
  func newDirectContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }
}
