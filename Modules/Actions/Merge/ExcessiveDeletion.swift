/// The numbers of a merge that was refused because it would delete too much: the `underlying` error of
/// ``ErrorCode/excessiveDeletion``.
public struct ExcessiveDeletion: Error, Sendable, Hashable {
  /// The name of the merge's entity.
  public let entityName: String
  /// The number of records that the merge would delete.
  public let deletedCount: Int
  /// The number of stored records in the merge's filter before the merge.
  public let storedCount: Int
  /// ``MergeOptions/maximumDeletedShare``; `nil` when there was none and the input named no record.
  public let maximumShare: Double?

  /// The share of the records that the merge would delete.
  public var share: Double { Double(deletedCount) / Double(max(storedCount, 1)) }
}
