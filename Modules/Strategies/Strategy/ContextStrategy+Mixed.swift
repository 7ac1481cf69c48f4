public import CoherenceCore

extension ContextStrategy {
  /// The view is a child of a root context, which works on the stores. Background contexts work on the stores directly, and
  /// the view follows their saves.
  ///
  /// ```
  /// view ── root ─┐
  ///    ↑ follows  ├─ coordinator
  /// background ───┘
  /// ```
  ///
  /// A save of the view writes directly into the stores before it returns, so that the root never has unsaved changes.
  public final class Mixed: ContextStrategy, ContextStrategyType {
    public let viewContext: ManagedObjectContext

    public required init(
      persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
    ) {
      viewContext = ContextStrategy.makeView(overRootOf: persistentStoreCoordinator)
      super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
    }

    public func newBackgroundContext<T: BackgroundContext>() -> T {
      let context: T = newDirectContext()
      viewContext.follow(context)
      return context
    }
  }
}
