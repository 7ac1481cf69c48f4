package import CoherenceCore

/// The attached read-only stores, whose records a plan matches with its input and never deletes.
package struct ReadOnlyStores {
  private let identifiers: Set<StoreIdentifier>

  /// - Parameter context: The context of the plan.
  package init(of context: ManagedObjectContext) {
    let stores = context.persistentStoreCoordinator?.persistentStores ?? []
    identifiers = Set(stores.filter(\.environment.isReadOnly).map(\.identifier))
  }

  /// Whether one of the stores has a record.
  package func contain(_ id: ManagedObjectID) -> Bool {
    !identifiers.isEmpty && id.storeIdentifier.map(identifiers.contains) == true
  }
}
