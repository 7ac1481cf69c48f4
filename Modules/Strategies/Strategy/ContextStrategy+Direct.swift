public import CoherenceCore

extension ContextStrategy {
  /// View and background contexts work on the stores directly. The view follows the saves of the background contexts.
  ///
  /// ```
  /// view ────────┐
  ///    ↑ follows ├─ coordinator
  /// background ──┘
  /// ```
  ///
  /// Each context resolves conflicts by its own merge policy, against the stores.
  public final class Direct: ContextStrategy, ContextStrategyType {
    public let viewContext: ManagedObjectContext

    public required init(
      persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
    ) {
      let view = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
      // Edits of different properties merge with saves of other processes also before the first background context.
      view.followLaterContexts()
      viewContext = view
      super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
    }

    public func newBackgroundContext<T: BackgroundContext>() -> T {
      let context: T = newDirectContext()
      viewContext.follow(context)
      return context
    }
  }
}
