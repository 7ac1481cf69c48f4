/// What a save of models wrote.
public struct SaveResult: Sendable, Hashable {
  /// Models that became new records.
  public var inserted = 0
  /// Records that were changed, because a model differs.
  public var updated = 0
  /// Records that are as their models are, and were not written.
  public var unchanged = 0
  /// Records that no model stands for, and surplus records of one uid. Those that delete rules added are not counted.
  public var deleted = 0
  /// Models that were left out: for another one with the same uid, or for an edit that was not sent yet.
  public var skipped = 0

  public init() {}
}
