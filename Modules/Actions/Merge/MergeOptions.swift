/// How a merge deals with what is not plain.
public struct MergeOptions: Sendable, Hashable {
  /// What becomes of records that are in the stores and not in the input.
  public enum Mode: Sendable, Hashable {
    /// They are deleted, as far as the merge's filter and condition allow.
    case replace
    /// They stay.
    case upsertOnly
  }

  /// What to do with input records of which several have one key.
  public enum DuplicatePolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    case firstWins
    case lastWins
  }

  /// What to do with input records that lack a part of their key.
  public enum MissingKeyPolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    /// They are left out, and counted as skipped.
    case skip
  }

  public var mode: Mode
  public var duplicates: DuplicatePolicy
  public var missingKeys: MissingKeyPolicy
  /// Whether ``Mode/replace`` deletes records of subentities too. They are updated either way.
  public var includesSubentities: Bool

  public init(
    mode: Mode = .replace, duplicates: DuplicatePolicy = .fail, missingKeys: MissingKeyPolicy = .fail,
    includesSubentities: Bool = false
  ) {
    self.mode = mode
    self.duplicates = duplicates
    self.missingKeys = missingKeys
    self.includesSubentities = includesSubentities
  }
}
