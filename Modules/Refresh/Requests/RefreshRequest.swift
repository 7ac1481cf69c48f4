public import CoherenceActions
public import CoherenceCore
public import Foundation

/// The arguments of one attempt of a refresh.
public struct RefreshRequest: Sendable {
  /// The context of the attempt's entity action. Work in it with `await context.perform`.
  public let context: ActionContext
  /// The entity to refresh.
  public let entity: EntityDescription
  /// The scope; `nil` for all records. For a read, the key of the record.
  public let scope: String?
  /// The reason of the attempt.
  public let reason: RefreshReason
  /// The beginning of the last successful attempt.
  public let lastSyncTime: Date?
  /// The position after the last page of changes that was stored before the call of the refresh's closure; `nil` for
  /// the first page. A merge in the closure does not change it.
  public internal(set) var cursor: String?
  let store: CursorStore
}

extension RefreshRequest {
  /// Merges a page of changes into the entity, and stores the page's cursor in the same transaction. With several
  /// writable stores of the entity, the cursor is stored once each store has saved its records.
  ///
  /// A change of the page may have to wait for the end of a pending edit, see `MergeResult.postponed`. Then neither the
  /// cursor of the page nor that of a later page of the attempt is stored: the next attempt asks for the page again.
  ///
  /// A refresh with `register(changesOf:)` merges each of its pages in the same way. It also treats pages that depend on
  /// later pages.
  ///
  /// - Parameters:
  ///   - page: The page, with the cursor of the position after it.
  ///   - subsetFilter: Limits the deletion of a complete page to the records of the scope.
  ///   - condition: The condition for changing or deleting a stored record. For example, it can reject a page that is
  ///     older than the record. `existing.name` reads the stored record, and `incoming.name` the page. A tombstone has
  ///     no incoming values, and a comparison with a missing value is false. A condition on versions therefore needs a
  ///     case for tombstones: `incoming.revision == nil OR incoming.revision >= existing.revision`.
  ///   - options: The options of the merge, which always saves. An attempt that loads several pages sets
  ///     `requestedAt` for each of them.
  /// - Returns: The counts of the merge.
  /// - Throws: The errors of the merge; ``ErrorCode/cancelled`` when the attempt has exceeded its time limit.
  @discardableResult
  public func merge(
    _ page: DeltaPage, subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) async throws -> MergeResult {
    try await store.merge([page], for: entity, in: context, (subsetFilter, condition), options)
  }
}
