public import CoherenceCore

extension ContextStrategy {
  /// View and background contexts work on the stores directly, independent of each other.
  ///
  /// ```
  /// view ────────┐
  ///              ├─ coordinator
  /// background ──┘
  /// ```
  ///
  /// Objects that the view has loaded keep their values until the view refreshes them, for example by
  /// `viewContext.refreshAll()`. Objects that a fetch loads for the first time have the values of the stores.
  public final class DirectIndependent: ContextStrategy, ContextStrategyType {
    public let viewContext: ManagedObjectContext

    public required init(
      persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
    ) {
      viewContext = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
      super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
    }

    public func newBackgroundContext<T: BackgroundContext>() -> T { newDirectContext() }
  }
}
