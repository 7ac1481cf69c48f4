import CoherenceCore

/// The entity that a merge is about, and the caller's limits and choices.
struct MergeScope {
  var entity: EntityDescription
  var ignoredAttributes: Set<String>
  var subsetFilter: FetchPredicate?
  var condition: FetchPredicate
  var options: MergeOptions

  /// Whether the condition or the filter looks at other records than those of the entity. Then other writers are kept out
  /// while the merge is planned: what they change of other records is no conflict at the save.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate`` for a condition that cannot be asked.
  func looksAtOtherRecords(_ layout: MergeLayout, in context: ActionContext) throws -> Bool {
    if try MergeCondition(condition, layout: layout, context: context).looksAtOtherRecords { return true }
    guard let subsetFilter else { return false }
    return try !PreparedPredicate(subsetFilter, for: layout.entity).dependencies.relationships.isEmpty
  }

  /// Refuses arguments that contradict each other, are out of range, or name no property.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an ignored name; ``ErrorCode/invalidMergeOption``.
  func check() throws(CoherenceError) {
    for name in ignoredAttributes.sorted() where entity.composites[name] == nil { _ = try entity.property(named: name) }
    if let share = options.maximumDeletedShare, !(0...1).contains(share) {
      throw CoherenceError(
        .invalidMergeOption, "`maximumDeletedShare` is \(share); a share is a number from 0 to 1.")
    }
    if subsetFilter != nil, options.mode == .upsertOnly {
      throw CoherenceError(
        .invalidMergeOption,
        "A merge into '\(entity.name)' has a `subsetFilter`, which limits deletion, and deletes nothing; give it the "
          + "mode `.replace`, or leave the filter out.")
    }
  }
}
