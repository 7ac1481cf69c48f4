import CoherenceCore
import Foundation

/// Reads and changes the records of actions and workers in the stores of a coordinator, on behalf of one worker.
///
/// Each method uses a new context that publishes its saves to no other context, so that user interfaces do not pay for
/// the worker's saves.
struct ActionLedger: Sendable {
  let coordinator: PersistentStoreCoordinator
  /// The entity of the actions.
  let entity: EntityDescription
  let catalog: ActionCatalog
  /// The identifier of the worker.
  let worker: UUID
  let workerName: String
  let retention: PersistedActionRetention
  let queues: [String]
  /// Whether the worker claims only actions with known names.
  let leavesUnknownActions: Bool

  typealias Records = FetchRequest<PersistedActionRecord>

  /// Runs a block in a new context.
  func inContext<T: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> T) async throws -> T {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.name = "persisted actions"
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
          context.rollback()
          throw error
        }
      }
    }
  }

  /// Fetches the records with identifiers.
  static func records(
    _ ids: some Sequence<ManagedObjectID>, in context: ManagedObjectContext
  ) throws -> [ManagedObjectID: PersistedActionRecord] {
    let request = Records().filter(.membership(.path(.own), in: ids.map(AttributeValue.reference)))
    return Dictionary(
      try context.fetch(request).map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Claiming

  /// Claims waiting actions of a queue, in the order of their ranks.
  ///
  /// - Parameter lease: The token of the claim.
  func claim(from queue: String, limit: Int, lease: UUID, at date: Date) async throws -> [ActionClaim] {
    let ledger = self
    return try await inContext { context in
      var request = Records().filter {
        $0.state == PersistedActionState.waiting.rawValue && $0.queue == queue
      }
      if ledger.leavesUnknownActions { request = request.filter { $0.name.isIn(ledger.catalog.names) } }
      let records = try context.claimObjects(
        request.sort(\.rank), limit: limit,
        set: [
          "state": PersistedActionState.running.rawValue, "worker": ledger.worker, "lease": lease,
          "startedDate": date,
        ])
      return records.filter { $0.lease == lease }.map { ActionClaim($0, lease: lease) }
    }
  }
}
