import CoherenceCore
import Foundation

// The deletion of finished actions, whose ranks are the dates of their ends.

extension ActionRepository {
  private static let pruningBatch = 1000

  /// Deletes finished actions whose retention has expired, in small transactions. The actions of read-only stores stay.
  ///
  /// - Returns: The number of deleted records.
  @discardableResult
  func prune(_ retention: PersistedActionRetention, at date: Date) async throws -> Int {
    var count = 0
    for (state, duration) in retention.limits {
      // A predicate refuses the date of a retention of `.seconds(Int64.max)`.
      let limit = date.addingTimeInterval(-(duration.limitedForSleep / .seconds(1)))
      var last: String?
      while let queue = try await firstQueue(after: last, of: state) {
        count += try await prune(state, of: queue, before: limit)
        last = queue
      }
    }
    return count
  }

  /// Returns the name of the next queue with actions of a state; `nil` after the last queue. Costs one step in the
  /// index.
  ///
  /// - Parameter last: The name of the previous queue; `nil` for the first call.
  private func firstQueue(after last: String?, of state: PersistedActionState) async throws -> String? {
    try await inContext { context in
      var request = Records().filter { $0.state == state.rawValue }
      if let last { request = request.filter { $0.queue > last } }
      return try context.fetch(request.sort(\.queue).sort(\.rank).limit(1)).first?.queue
    }
  }

  private func prune(_ state: PersistedActionState, of queue: String, before limit: Date) async throws -> Int {
    var count = 0
    while true {
      let deleted = try await pruneBatch(state, of: queue, before: limit)
      count += deleted
      if deleted < Self.pruningBatch { return count }
    }
  }

  private func pruneBatch(_ state: PersistedActionState, of queue: String, before limit: Date) async throws -> Int {
    try await inContext { context in
      // The rank finds the records by the index. The ranks of an earlier release were dates before the end.
      let request = Records().filter {
        $0.state == state.rawValue && $0.queue == queue && $0.rank < limit && $0.finishedDate < limit
      }
      let ids = try context.writableIDs(request.sort(\.rank), limit: Self.pruningBatch)
      guard !ids.isEmpty else { return 0 }
      return try context.execute(
        BatchDeleteRequest(
          entityName: PersistedActionRecord.entityName,
          predicate: .membership(.path(.own), in: ids.map(AttributeValue.reference)))
      ).count
    }
  }
}
