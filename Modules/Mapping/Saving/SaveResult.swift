/// The counts of a save of models.
public struct SaveResult: Sendable, Hashable {
  /// Models that were inserted as new records.
  public var inserted = 0
  /// Records that were changed, because their models differ.
  public var updated = 0
  /// Records that equal their models. They were not written.
  public var unchanged = 0
  /// Records without a model, and superfluous records of one uid. Records that delete rules added are not counted.
  public var deleted = 0
  /// Models that were left out, because another model has the same uid, or because the record has an edit that was not
  /// uploaded yet.
  public var skipped = 0

  public init() {}
}
