import CoherenceCore

extension ContextStrategy {
  /// Makes a view context with a private root context as its parent. A save of the view writes directly into the
  /// stores: the root never has unsaved changes, and the saver receives the conflicts.
  static func makeView(overRootOf coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    let root = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    root.name = "root"
    let view = ManagedObjectContext(concurrencyType: .mainQueue, parent: root)
    view.savesPastParent = true
    return view
  }
}
