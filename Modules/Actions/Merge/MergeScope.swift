import CoherenceCore

/// The entity that a merge is about, and the caller's limits and choices.
struct MergeScope {
  var entity: EntityDescription
  var ignoredAttributes: Set<String>
  var subsetFilter: FetchPredicate?
  var condition: FetchPredicate
  var options: MergeOptions

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
