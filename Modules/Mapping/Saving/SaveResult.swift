/// The counts of a save of models.
public struct SaveResult: Sendable, Hashable {
  /// The number of models without a stored record, which were inserted.
  public var inserted = 0
  /// The number of records with other values than their models, which were written.
  public var updated = 0
  /// The number of records equal to their models, which were not written.
  public var unchanged = 0
  /// The number of deleted records: records without a model in an overwriting save, and duplicate records of one uid.
  /// Records deleted by delete rules are not counted.
  public var deleted = 0
  /// The number of models without an effect: another model has the same uid, or the record has an edit that still
  /// awaits its upload.
  public var skipped = 0

  public init() {}
}
