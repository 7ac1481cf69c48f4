import CoherenceCore

/// Reads and changes the records of actions and workers in the stores of a coordinator.
///
/// Each method uses a new context that publishes its saves to no other context, so that user interfaces do not pay for
/// these saves.
struct ActionRepository: Sendable {
  let coordinator: PersistentStoreCoordinator
  /// The entity of the actions.
  let entity: EntityDescription
  /// The stores whose records are read and changed; `nil` for all stores.
  var stores: Set<StoreIdentifier>?

  typealias Records = FetchRequest<PersistedActionRecord>

  /// Runs a block in a new context. Unsaved changes of the block are lost.
  func inContext<T: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> T) async throws -> T {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.name = "persisted actions"
    context.storeIdentifiers = stores
    return try await context.perform { try body(context) }
  }

  /// Runs a block that changes records in a new context, and saves. Repeats both with newer rows when another
  /// transaction changed the records first.
  func changing<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let entity = entity
    return try await inContext { context in
      try context.planningAgain(afterRacesOver: entity) {
        do {
          let result = try body(context)
          try context.save()
          return result
        } catch {
          // The next run begins without the changes of this one.
          context.rollback()
          throw error
        }
      }
    }
  }
}
