import CoherenceCore
import Foundation

/// Reads and changes the records of actions and workers on behalf of one worker.
struct WorkerRepository: Sendable {
  private(set) var actions: ActionRepository
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

  /// Fetches the records with identifiers. Reads only the stores that the identifiers name.
  static func records(
    _ ids: [ManagedObjectID], in context: ManagedObjectContext
  ) throws -> [ManagedObjectID: PersistedActionRecord] {
    let request = Records().filter(.membership(.path(.own), in: ids.map(AttributeValue.reference)))
      .inStores(Set(ids.compactMap(\.storeIdentifier)))
    return Dictionary(
      try context.fetch(request).map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Stores

  /// The writable stores with the actions. Work for one store at a time is not held up by the failure of another store.
  ///
  /// - Returns: A single `nil` without such a store: a request without a store reports that none is attached.
  var storesOfActions: [StoreIdentifier?] {
    let stores = coordinator.persistentStores.filter { store in
      !store.environment.isReadOnly
        && store.environment.entities.contains { $0.name == PersistedActionRecord.entityName }
    }
    return stores.isEmpty ? [nil] : stores.map { $0.identifier }
  }

  /// The readable stores of actions, if another store of actions is unreadable; `nil` if all or none of the stores are
  /// readable.
  func readableStores() async -> Set<StoreIdentifier>? {
    let stores = storesOfActions.compactMap { $0 }
    guard stores.count > 1 else { return nil }
    var readable: Set<StoreIdentifier> = []
    for store in stores {
      let count = try? await inContext { try $0.fetchIDs(Self.records(in: store).limit(1)).count }
      if count != nil { readable.insert(store) }
    }
    return readable.isEmpty || readable.count == stores.count ? nil : readable
  }

  /// The repository for the records of some stores.
  func limited(to stores: Set<StoreIdentifier>) -> WorkerRepository {
    var repository = self
    repository.actions.stores = stores
    return repository
  }

  /// A request for the actions of a store; of all writable stores for `nil`.
  static func records(in store: StoreIdentifier?) -> Records {
    let records = Records().inWritableStores()
    return store.map { records.inStores([$0]) } ?? records
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
