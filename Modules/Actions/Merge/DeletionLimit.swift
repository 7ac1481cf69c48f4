import CoherenceCore

/// Guards a merge against deleting more records than its caller expects.
struct DeletionLimit {
  private let entity: EntityDescription
  private let maximumShare: Double?

  init(_ scope: MergeScope) {
    entity = scope.entity
    maximumShare = scope.options.maximumDeletedShare
  }

  /// - Parameters:
  ///   - deletedCount: The records to delete.
  ///   - storedCount: The records that were there before.
  ///   - isInputEmpty: Whether the input names no record.
  /// - Throws: ``ErrorCode/excessiveDeletion``.
  func check(_ deletedCount: Int, of storedCount: Int, isInputEmpty: Bool) throws(CoherenceError) {
    guard deletedCount > 0 else { return }
    let refusal = ExcessiveDeletion(
      entityName: entity.name, deletedCount: deletedCount, storedCount: storedCount, maximumShare: maximumShare)
    if let maximumShare {
      if refusal.share <= maximumShare { return }
      throw error(refusal, "more than the share of \(maximumShare) that it may delete")
    } else if isInputEmpty {
      throw error(refusal, "because its input names none")
    }
  }

  private func error(_ refusal: ExcessiveDeletion, _ reason: String) -> CoherenceError {
    CoherenceError(
      .excessiveDeletion,
      "The merge would delete \(refusal.deletedCount) of \(refusal.storedCount) records of '\(entity.name)', "
        + "\(reason); none was deleted. Check the input, or give a larger `maximumDeletedShare`.",
      underlying: refusal)
  }
}
