public import CoherenceCore

/// The base class of context strategies: stores the coordinator and the error handler.
///
/// Every strategy of the framework guarantees:
/// - A save of a background context or of the view context is durable when it returns.
/// - A save of a background context never saves edits of the view context.
/// - The view context shows its unsaved edits over the saves of background contexts. A property that both have changed is a
///   conflict at the save of the view; the view's merge policy reports or resolves the conflict. Edits of different
///   properties are merged, also with saves of other processes.
/// - A save never waits for the main actor. The changes are posted to the view context, which applies them when it is next
///   entered. A read on the view after the end of the save sees them.
///
/// ``DirectIndependent`` is the exception to the last two: its view does not follow background contexts, and edits of
/// different properties are a conflict too. Its saves do not wait for the main actor either.
open class ContextStrategy {
  /// The coordinator of the stores.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// Receives errors without a caller to throw to. For strategies with work of their own; the framework's strategies
  /// have no such errors.
  public let errorHandler: AsyncErrorHandlerBlock

  /// Makes a strategy without stores.
  ///
  /// - Parameters:
  ///   - persistentStoreCoordinator: The coordinator that stores are attached to later.
  ///   - errorHandler: Receives errors without a caller to throw to. May be called on any thread.
  public required init(
    persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
  ) {
    self.persistentStoreCoordinator = persistentStoreCoordinator
    self.errorHandler = errorHandler
  }

  /// Makes a background context without a parent: it reads from and saves to the stores.
  func newDirectContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }
}
