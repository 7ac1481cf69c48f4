public import CoherenceCore

extension ContextStrategy {
  /// Background contexts are children of the view, and the view is a child of a root context, which works on the stores.
  ///
  /// ```
  /// background ── view ── root ── coordinator
  /// ```
  ///
  /// A background context sees the unsaved edits of the view. Its save writes its own changes alone, directly into the
  /// stores, before it returns; the view keeps its edits over the saved values. The save has a conflict over a
  /// property that the context read as an unsaved edit of the view and changed, if another background context has saved
  /// the property in the meantime.
  public final class IndirectNested: ContextStrategy, ContextStrategyType {
    public let viewContext: ManagedObjectContext

    public required init(
      persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
    ) {
      viewContext = ContextStrategy.makeView(overRootOf: persistentStoreCoordinator)
      super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
    }

    public func newBackgroundContext<T: BackgroundContext>() -> T {
      let context = T(concurrencyType: .privateQueue)
      context.parent = viewContext
      context.savesPastParent = true
      return context
    }
  }
}
