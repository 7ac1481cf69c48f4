import CoherenceCore
import Synchronization

/// The growth of a store's tables by the inserts of this process. May be used from any thread.
///
/// The server keeps the plan of a prepared statement until it gathers the statistics of a table again, about a minute
/// after the table has grown. A plan for a small table reads the whole table, in each look-up of a record. So each
/// connection discards its plans after every further thousand of inserted rows, and the server makes plans for the
/// present sizes.
final class PostgreSQLGrowth: Sendable {
  private let insertions = Atomic<Int>(0)

  /// A number that changes with every further thousand of inserted rows.
  var stage: Int { insertions.load(ordering: .relaxed) / 1_000 }

  /// Counts inserted rows, also rows of a transaction that fails later.
  func add(_ count: Int) {
    if count > 0 { insertions.wrappingAdd(count, ordering: .relaxed) }
  }
}

extension PostgreSQLConnection {
  /// Discards the server's plans of the connection's statements, unless they were made at this stage of growth.
  ///
  /// - Returns: Whether the connection is ready; `false` if the server did not discard the plans.
  func renewPlans(at stage: Int) -> Bool {
    guard stage != plannedStage else { return true }
    plannedStage = stage
    return (try? run(Self.discardingPlans)) != nil
  }

  private static let discardingPlans = PostgreSQLText("DISCARD PLANS", isPrepared: false)
}

extension StoreSaveRequest {
  /// The number of rows and links that the steps add.
  var insertCount: Int {
    steps.reduce(0) { count, step in
      switch step {
      case .insert(_, let rows): count + rows.count
      case .link(_, let links): count + links.count
      default: count
      }
    }
  }
}
