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

/// The order in which a plan prefers the records of the attached stores. The read-only stores come last.
package struct StoreOrder {
  private let ranks: [StoreIdentifier: Int]
  /// The rank of unsaved records, which come before the records of read-only stores.
  private let unsavedRank: Int

  /// Makes the order in which a context chooses the stores of new records.
  ///
  /// - Parameter context: The context of the plan.
  package init(of context: ManagedObjectContext) {
    let stores = context.persistentStoreCoordinator?.persistentStores ?? []
    let writable = stores.filter { !$0.environment.isReadOnly }
    unsavedRank = writable.count
    let ordered = writable + stores.filter(\.environment.isReadOnly)
    ranks = Dictionary(
      ordered.enumerated().map { ($1.identifier, $0 < writable.count ? $0 : $0 + 1) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Makes the order in which ``RowScan/resolveDuplicates(where:)`` chooses a match. All writable stores have one rank.
  ///
  /// - Parameter context: The context of the plan.
  package init(ofMatchesIn context: ManagedObjectContext) {
    let stores = context.persistentStoreCoordinator?.persistentStores ?? []
    ranks = Dictionary(
      stores.map { ($0.identifier, $0.environment.isReadOnly ? 1 : 0) }, uniquingKeysWith: { first, _ in first })
    unsavedRank = 0
  }

  /// The rank of a record's store.
  func rank(of id: ManagedObjectID) -> Int { id.storeIdentifier.flatMap { ranks[$0] } ?? unsavedRank }
}
