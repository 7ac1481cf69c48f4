import CoherenceCore
import Foundation

/// Reads and changes the records of actions and workers on behalf of one worker.
struct WorkerRepository: Sendable {
  let actions: ActionRepository
  let catalog: ActionCatalog
  /// The identifier of the worker.
  let worker: UUID
  let workerName: String
  let retention: PersistedActionRetention
  let queues: [String]
  /// Whether the worker claims only actions with known names.
  let leavesUnknownActions: Bool

  typealias Records = ActionRepository.Records

  var coordinator: PersistentStoreCoordinator { actions.coordinator }

  /// Runs a block in a new context.
  func inContext<T: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> T) async throws -> T {
    try await actions.inContext(body)
  }

  /// Runs a block that changes records in a new context, and saves; see ``ActionRepository/changing(_:)``.
  func changing<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    try await actions.changing(body)
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
    let repository = self
    return try await inContext { context in
      var request = Records().filter {
        $0.state == PersistedActionState.waiting.rawValue && $0.queue == queue
      }
      if repository.leavesUnknownActions { request = request.filter { $0.name.isIn(repository.catalog.names) } }
      let records = try context.claimObjects(
        request.sort(\.rank), limit: limit,
        set: [
          "state": PersistedActionState.running.rawValue, "worker": repository.worker, "lease": lease,
          "startedDate": date,
        ])
      // A store without claims of its own reads the objects after the commit, when another worker may have the action.
      return records.filter { $0.lease == lease }.map { ActionClaim($0, lease: lease) }
    }
  }
}
