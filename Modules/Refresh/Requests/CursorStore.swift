import CoherenceActions
import CoherenceCore
import Foundation
import Synchronization

/// Saves pages together with their cursors, for one attempt of a refresh.
struct CursorStore: Sendable {
  /// The maximum number of saves of a page when other writers change its records first.
  private static let saveLimit = 4

  let table: StatusTable
  let name: StatusName
  /// The identifier of the attempt, under which it has the lease.
  let owner: UUID
  private let postponement = PostponementFlag()

  /// - Parameter owner: The identifier of the attempt.
  init(table: StatusTable, name: StatusName, owner: UUID) {
    self.table = table
    self.name = name
    self.owner = owner
  }

  /// The store of the cursors; `nil` without an attached store of the entity.
  var storeIdentifier: StoreIdentifier? { table.storeIdentifier(for: name.entity) }

  /// Merges successive pages and saves them with the cursor of the last page, in one transaction. Repeats both when
  /// another writer has changed a record first. With several writable stores of the entity, each store saves its records
  /// in a transaction of its own, and the cursor is saved after them.
  ///
  /// - Parameter isMergedAgain: Whether the caller merges the pages again together with later pages when another record
  ///   has one of their unique values. Then the same save is not repeated.
  func merge(
    _ pages: [DeltaPage], for entity: EntityDescription, in context: ActionContext,
    _ limits: (subsetFilter: FetchPredicate?, condition: FetchPredicate), _ options: MergeOptions,
    isMergedAgain: Bool = false
  ) async throws -> MergeResult {
    var options = options
    options.saves = true
    var saveCount = 1
    while true {
      do {
        return try await context.perform { [options] in
          try save(pages, for: entity, in: context, limits, options)
        }
      } catch let error as CoherenceError where error.isRetriedAtOnce(after: saveCount, of: Self.saveLimit) {
        if isMergedAgain, error.code == .uniquenessViolated { throw error }
        saveCount += 1
      }
    }
  }

  private func save(
    _ pages: [DeltaPage], for entity: EntityDescription, in context: ActionContext,
    _ limits: (subsetFilter: FetchPredicate?, condition: FetchPredicate), _ options: MergeOptions
  ) throws -> MergeResult {
    let cursor = postponement.isSet ? nil : pages.last { $0.cursor != nil }?.cursor
    // The store of the cursor may commit before a store that fails. The records of that store would not come again.
    let savesCursorLast = table.hasSeveralStores(for: entity)
    do {
      // The cursor is set after the plan, so that the merge begins in a context without changes: its merge policy
      // would else turn a new record into a stored one with the same unique value, which a later page gives up.
      let result = try context.merge(
        pages, for: entity, subsetFilter: limits.subsetFilter, condition: limits.condition, options: options
      ) { planned in
        guard let cursor, planned.postponed == 0 else { return }
        if savesCursorLast {
          try table.checkLease(of: name, owner, in: context)
        } else {
          try table.setCursor(cursor, of: name, owner, in: context)
        }
      }
      if result.postponed > 0 {
        postponement.set()
      } else if savesCursorLast, let cursor {
        try table.setCursor(cursor, of: name, owner, in: context)
        try context.save()
      }
      return result
    } catch {
      context.rollback()
      throw error
    }
  }
}

/// Whether an attempt stores no further cursors, because a merged page has records that wait for the end of a pending
/// edit. The next attempt begins with the stored cursor and gets these records again.
private final class PostponementFlag: Sendable {
  private let value = Atomic<Bool>(false)

  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
