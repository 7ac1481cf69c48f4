public import CoherenceActions
public import CoherenceCore
public import Foundation

/// The arguments of one attempt to refresh.
public struct RefreshRequest: Sendable {
  /// A context of the attempt, as an entity action has it: work in it with `await context.perform`.
  public let context: ActionContext
  /// The entity to refresh.
  public let entity: EntityDescription
  /// The scope; `nil` for all records. For a read, the key of the record.
  public let scope: String?
  /// The reason of the attempt.
  public let reason: RefreshReason
  /// The beginning of the last successful attempt.
  public let lastSyncTime: Date?
  /// The position of the last stored page of changes; `nil` for the first page of all.
  public internal(set) var cursor: String?
  let store: CursorStore
}

extension RefreshRequest {
  /// Merges a page of changes into the entity, and stores the page's cursor in the same transaction.
  ///
  /// A refresh of changes, `register(changesOf:)`, merges its pages by itself.
  ///
  /// - Parameters:
  ///   - subsetFilter: Limits the deletion of a complete page to the records of the scope.
  ///   - options: The options of the merge, which always saves.
  /// - Returns: The counts of the merge.
  /// - Throws: The errors of the merge; ``ErrorCode/cancelled`` when the attempt has exceeded its time limit.
  @discardableResult
  public func merge(
    _ page: DeltaPage, subsetFilter: FetchPredicate? = nil, options: MergeOptions = MergeOptions()
  ) async throws -> MergeResult {
    try await store.merge(page, for: entity, in: context, subsetFilter: subsetFilter, options: options)
  }
}

/// Stores pages together with their cursors, for one attempt.
struct CursorStore: Sendable {
  /// The number of attempts against other writers of the page's records.
  private static let attempts = 4

  let table: StatusTable
  let name: StatusName
  let owner: UUID

  func merge(
    _ page: DeltaPage, for entity: EntityDescription, in context: ActionContext, subsetFilter: FetchPredicate?,
    options: MergeOptions
  ) async throws -> MergeResult {
    var options = options
    options.saves = true
    var attempt = 1
    while true {
      do {
        return try await context.perform { [options] in
          do {
            if let cursor = page.cursor { try table.setCursor(cursor, of: name, owner, in: context) }
            let result = try context.merge(page, for: entity, subsetFilter: subsetFilter, options: options)
            // A merge without changes may leave the cursor to this save.
            if context.hasChanges { try context.save() }
            return result
          } catch {
            context.rollback()
            throw error
          }
        }
      } catch let error as CoherenceError where attempt < Self.attempts && error.isLostRace {
        attempt += 1
      }
    }
  }
}
