import CoherenceCore

/// Refuses a merge that would delete more records than its caller allows, or any record for empty input.
struct DeletionLimit {
  private let entity: EntityDescription
  private let maximumShare: Double?

  init(_ scope: MergeScope) {
    entity = scope.entity
    maximumShare = scope.options.maximumDeletedShare
  }

  /// - Parameters:
  ///   - deletedCount: The number of records to delete.
  ///   - storedCount: The number of stored records before the merge; see ``ExcessiveDeletion/storedCount``.
  ///   - isInputEmpty: Whether the input contains no record, apart from records that the merge leaves out.
  /// - Throws: ``ErrorCode/excessiveDeletion``.
  func check(_ deletedCount: Int, of storedCount: Int, isInputEmpty: Bool) throws(CoherenceError) {
    guard deletedCount > 0 else { return }
    let refusal = ExcessiveDeletion(
      entityName: entity.name, deletedCount: deletedCount, storedCount: storedCount, maximumShare: maximumShare)
    if let maximumShare {
      if refusal.share <= maximumShare { return }
      throw error(refusal, "which is more than the allowed share of \(maximumShare)")
    } else if isInputEmpty {
      throw error(refusal, "because its input contains no record")
    }
  }

  private func error(_ refusal: ExcessiveDeletion, _ reason: String) -> CoherenceError {
    CoherenceError(
      .excessiveDeletion,
      "The merge would delete \(refusal.deletedCount) of \(refusal.storedCount) records of '\(entity.name)', "
        + "\(reason); no record was deleted. Check the input, or raise `maximumDeletedShare`.",
      underlying: refusal)
  }
}
