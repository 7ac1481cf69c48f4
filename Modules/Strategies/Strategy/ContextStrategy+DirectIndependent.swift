public import CoherenceCore

extension ContextStrategy {
  /// View and background contexts work on the stores directly and know nothing of each other.
  ///
  /// ```
  /// view ────────┐
  ///              ├─ coordinator
  /// background ──┘
  /// ```
  ///
  /// Objects that the view has loaded keep their values until `viewContext.refreshAll()`; what it fetches afresh is what
  /// the stores have.
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
