import CoherenceCore

extension ContextStrategy {
  /// A view context over a private root context. The view's saves go through root into the stores, so that root never
  /// holds changes that are in no store, and a conflict is reported to who saves.
  static func makeView(overRootOf coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    let root = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    root.name = "root"
    let view = ManagedObjectContext(concurrencyType: .mainQueue, parent: root)
    view.savesThroughParent = true
    return view
  }
}
