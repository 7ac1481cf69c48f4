/// The numbers of a merge refused for its deletions, above the limit of its options or for empty input: the
/// `underlying` error of ``ErrorCode/excessiveDeletion``.
public struct ExcessiveDeletion: Error, Sendable, Hashable {
  /// The name of the merge's entity.
  public let entityName: String
  /// The number of records that the merge would delete.
  public let deletedCount: Int
  /// The number of stored records in the merge's filter before the merge. Records that the options protect from
  /// deletion, such as records of subentities, count only if the input contains them.
  public let storedCount: Int
  /// ``MergeOptions/maximumDeletedShare``; `nil` for a merge without a limit whose input contained no record.
  public let maximumShare: Double?

  /// The share of the records that the merge would delete, from 0 to 1.
  public var share: Double { Double(deletedCount) / Double(max(storedCount, 1)) }
}
