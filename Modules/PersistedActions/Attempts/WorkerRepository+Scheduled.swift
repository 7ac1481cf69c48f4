import CoherenceActions
import CoherenceCore
import Foundation

// The scheduled actions, whose ranks are their due dates.

extension WorkerRepository {
  /// The result of a promotion.
  struct Promotion: Sendable {
    /// The earliest date of the remaining scheduled actions; `nil` without such an action.
    var nextDueDate: Date?
    /// The error of the first store that failed.
    var failure: (any Error)?
  }

  /// Moves the scheduled actions with reached dates to the waiting state, in one store after the other.
  func promoteScheduled(at date: Date) async -> Promotion {
    var promotion = Promotion()
    for store in storesOfActions {
      do {
        guard let next = try await promoteScheduled(at: date, in: store) else { continue }
        promotion.nextDueDate = min(promotion.nextDueDate ?? next, next)
      } catch {
        promotion.failure = promotion.failure ?? error
      }
    }
    return promotion
  }

  private func promoteScheduled(at date: Date, in store: StoreIdentifier?) async throws -> Date? {
    let first = try await firstDueDate(in: store)
    guard let first, first <= date else { return first }
    try await promoteUnprioritized(at: date, in: store)
    while try await promotePrioritized(at: date, in: store) == Self.promotionBatch {}
    return try await firstDueDate(in: store)
  }

  private static let promotionBatch = 1000
  private static let normalPriority = Int16(ActionPriority.normal.rawValue)

  /// Promotes the actions of normal priority, whose rank stays the due date, with one statement.
  private func promoteUnprioritized(at date: Date, in store: StoreIdentifier?) async throws {
    try await inContext { context in
      var request = BatchUpdateRequest(
        entityName: PersistedActionRecord.entityName,
        predicate: due(at: date, in: store).filter { $0.priority == Self.normalPriority }.predicate,
        values: ["state": PersistedActionState.waiting.rawValue])
      request.includesReadOnlyStores = false
      request.storeIdentifiers = store.map { [$0] }
      _ = try context.execute(request)
    }
  }

  /// Promotes actions whose priority shifts the rank.
  ///
  /// - Returns: The number of promoted actions.
  private func promotePrioritized(at date: Date, in store: StoreIdentifier?) async throws -> Int {
    try await changing { context in
      let request = due(at: date, in: store).filter { $0.priority != Self.normalPriority }.sort(\.rank)
      let records = try context.fetch(request.limit(Self.promotionBatch))
      for record in records { record.wait(from: record.dueDate, now: date) }
      return records.count
    }
  }

  /// The scheduled actions with reached dates. An earlier release shifted the ranks of scheduled actions too, so that
  /// the due date is compared as well.
  private func due(at date: Date, in store: StoreIdentifier?) -> Records {
    Self.records(in: store).filter { [queues] in
      $0.state == PersistedActionState.scheduled.rawValue && $0.queue.isIn(queues) && $0.rank <= date
        && $0.dueDate <= date
    }
  }

  /// Returns the earliest date of the scheduled actions of all queues; `nil` without such an action.
  private func firstDueDate(in store: StoreIdentifier?) async throws -> Date? {
    try await inContext { [queues] context in
      try queues.compactMap { try Self.firstDueDate(of: $0, in: store, context) }.min()
    }
  }

  /// Reads the first scheduled action of a queue, by the index.
  private static func firstDueDate(
    of queue: String, in store: StoreIdentifier?, _ context: ManagedObjectContext
  ) throws -> Date? {
    let scheduled = records(in: store).filter {
      $0.state == PersistedActionState.scheduled.rawValue && $0.queue == queue
    }
    guard let first = try context.fetch(scheduled.sort(\.rank).limit(1)).first else { return nil }
    guard first.rank < first.dueDate else { return first.rank }
    // An earlier release gave an action of high priority a rank before its due date. Actions with a later rank may be
    // due before this action.
    let limit = first.dueDate
    let earlier = scheduled.filter { $0.rank < limit }
    let shifted = try context.fetch(earlier.filter { $0.rank < $0.dueDate }.sort(\.dueDate).limit(1)).first
    let other = try context.fetch(earlier.filter { $0.rank >= $0.dueDate }.sort(\.rank).limit(1)).first
    return [shifted?.dueDate, other?.rank].compactMap { $0 }.min()
  }
}
