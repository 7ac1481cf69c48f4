import CoherenceCore
import CoherenceReconciliation

/// The arguments of a merge: its entity, and the caller's limits and options.
struct MergeScope {
  var entity: EntityDescription
  var ignoredAttributes: Set<String>
  /// The stored records that the merge may delete.
  var subsetFilter: FetchPredicate?
  /// The stored records that the merge may change or delete; see ``MergeCondition``.
  var condition: FetchPredicate
  var options: MergeOptions

  /// Whether the condition or the filter reads related records. Then the stores keep other writers out from the first plan
  /// on, unless the context has other changes: a change of a related record is no conflict at the save.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate`` for an invalid condition.
  func readsRelatedRecords(_ layout: MergeLayout, in context: ActionContext) throws -> Bool {
    if try MergeCondition(condition, layout: layout, context: context).readsRelatedRecords { return true }
    guard let subsetFilter else { return false }
    return try !PreparedPredicate(subsetFilter, for: layout.entity).dependencies.relationships.isEmpty
  }

  /// The options of the scan of the stored rows, from the options of the merge.
  func scanOptions(_ layout: MergeLayout) -> ScanOptions {
    let duplicates: ScanOptions.Duplicates =
      switch options.storedDuplicates {
      case .fail:
        .refuse(
          CoherenceError(
            .invalidMergeKey,
            "Several stored records of '\(layout.entity.name)' have the same key \(layout.keyNames); delete all but one, or "
              + "choose a policy for `storedDuplicates`."))
      case .keep: .keep
      case .delete: .remove
      }
    return ScanOptions(
      duplicates: duplicates, includesSubentities: options.includesSubentities,
      includesIncompleteKeys: options.deletesRecordsWithoutKey)
  }

  /// Refuses arguments that contradict each other, are out of range, or name no property.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an ignored name; ``ErrorCode/invalidMergeOption``.
  func check() throws(CoherenceError) {
    for name in ignoredAttributes.sorted() where entity.composites[name] == nil { _ = try entity.property(named: name) }
    if let share = options.maximumDeletedShare, !(0...1).contains(share) {
      throw CoherenceError(
        .invalidMergeOption, "`maximumDeletedShare` is \(share); give it a number from 0 to 1.")
    }
    if subsetFilter != nil, options.mode == .upsertOnly {
      throw CoherenceError(
        .invalidMergeOption,
        "A merge into '\(entity.name)' has a `subsetFilter`, which limits deletion, in a mode that deletes nothing; "
          + "choose the mode `.replace`, or leave out the filter.")
    }
  }
}
