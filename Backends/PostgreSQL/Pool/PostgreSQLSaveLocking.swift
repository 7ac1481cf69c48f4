import CoherenceCore
import CoherenceSQL
import Synchronization

/// Whether the saves of a store lock all rows that they change before the first change, in one order.
///
/// A save changes rows group by group, one group for each set of changed properties. Two saves of the same rows may
/// therefore wait for each other, and the server ends one of them after a second. The locks would cost every save a
/// statement, so that a store has them only after its first such failure, and then for the rest of its life.
final class PostgreSQLSaveLocking: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Whether a save of the store has met a deadlock.
  var isRequired: Bool { flag.load(ordering: .relaxed) }

  /// Has later saves lock their rows first.
  func require() { flag.store(true, ordering: .relaxed) }

  /// The statements that lock the rows of a save, in the order of ``PostgreSQLTableOrder/rowLocks(of:)``. One row needs
  /// no lock.
  func locks(of request: StoreSaveRequest, in schema: SQLSchema) throws -> [SQLFragment] {
    let keys = request.changedKeys
    guard keys.values.reduce(0, { $0 + $1.count }) > 1 else { return [] }
    return try PostgreSQLTableOrder(of: schema).rowLocks(of: keys).map { table, keys in
      """
      SELECT 1 FROM \(name: table.name) WHERE \(name: SQLTable.id) \(keys: keys) ORDER BY \(name: SQLTable.id) \
      FOR UPDATE
      """
    }
  }
}

extension StoreSaveRequest {
  /// The keys of the changed and deleted rows, by hierarchy.
  fileprivate var changedKeys: [EntityDescription: [Int64]] {
    var result: [EntityDescription: [Int64]] = [:]
    for step in steps {
      switch step {
      case .update(let entity, _, let updates): result[entity.root, default: []] += updates.map(\.row.key)
      case .delete(let entity, let deletes): result[entity.root, default: []] += deletes.map(\.id.key)
      case .fix(let entity, _, let rows): result[entity.root, default: []] += rows.map(\.key)
      case .insert, .link, .unlink: break
      }
    }
    return result
  }
}
