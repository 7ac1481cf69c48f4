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
      let ids = try context.claim(
        request.sort(\.rank), limit: limit,
        set: [
          "state": PersistedActionState.running.rawValue, "worker": ledger.worker, "lease": lease,
          "startedDate": date,
        ])
      guard !ids.isEmpty else { return [] }
      let records = try Self.records(ids, in: context)
      return ids.compactMap { records[$0] }.filter { $0.lease == lease }.map { ActionClaim($0, lease: lease) }
    }
  }

  // MARK: Scheduled actions

  /// Moves the scheduled actions with reached dates to the waiting state.
  ///
  /// - Returns: The earliest date of the remaining scheduled actions; `nil` without such an action.
  func promoteScheduled(at date: Date) async throws -> Date? {
    let first = try await firstDueDate()
    guard let first, first <= date else { return first }
    try await inContext { [queues] context in
      _ = try context.execute(
        BatchUpdateRequest(
          entityName: PersistedActionRecord.entityName,
          predicate: Self.scheduled(in: queues).predicate.map { $0 && Self.isDue(at: date) },
          values: ["state": PersistedActionState.waiting.rawValue]))
    }
    return try await firstDueDate()
  }

  private static func scheduled(in queues: [String]) -> Records {
    Records().filter { $0.state == PersistedActionState.scheduled.rawValue && $0.queue.isIn(queues) }
  }

  private static func isDue(at date: Date) -> FetchPredicate {
    .comparison(.path(PropertyPath(names: ["dueDate"])), .lessOrEqual, .value(date.attributeValue))
  }

  private func firstDueDate() async throws -> Date? {
    try await inContext { [queues] context in
      try context.fetch(Self.scheduled(in: queues).sort(\.dueDate).limit(1)).first?.dueDate
    }
  }

  // MARK: Pruning

  private static let pruningBatch = 1000

  /// Deletes finished actions whose retention has expired, in small transactions.
  ///
  /// - Returns: The number of deleted records.
  @discardableResult
  func prune(at date: Date) async throws -> Int {
    var count = 0
    for (state, duration) in retention.limits {
      let limit = date.addingTimeInterval(-(duration / .seconds(1)))
      while true {
        let deleted = try await inContext { context in
          let request = Records().filter { $0.state == state.rawValue && $0.finishedDate < limit }
          let ids = try context.fetchIDs(request.sort(\.finishedDate).limit(Self.pruningBatch))
          guard !ids.isEmpty else { return 0 }
          return try context.execute(
            BatchDeleteRequest(
              entityName: PersistedActionRecord.entityName,
              predicate: .membership(.path(.own), in: ids.map(AttributeValue.reference)))
          ).count
        }
        count += deleted
        if deleted < Self.pruningBatch { break }
      }
    }
    return count
  }
}
