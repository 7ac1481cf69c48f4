public import CoherenceCore

extension ContextStrategy {
  /// Background contexts are children of the view, and the view of a root context, which works on the stores.
  ///
  /// ```
  /// background ── view ── root ── coordinator
  /// ```
  ///
  /// A background context sees the unsaved edits of the view. Its save carries its own changes, and nothing else,
  /// through view and root into the stores before it returns; the view takes them as its new base, keeping its edits.
  /// A background context that changes a property where it has read an edit of the view meets a conflict when another
  /// background context has saved the property meanwhile.
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
      context.savesThroughParent = true
      return context
    }
  }
}
