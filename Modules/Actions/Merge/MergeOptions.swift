/// The choices of a merge.
///
/// A merge updates and inserts. It deletes nothing unless the call says so, with ``Mode/replace``. The one exception is
/// ``ActionContext/merge(objects:for:ignoreAttributes:subsetFilter:condition:options:)`` without options: it replaces,
/// as it did in Coherence 5.
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

  /// What to do when several records in the stores have the key of one input record.
  public enum StoredDuplicatePolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    /// The oldest takes the input's values, the others stay as they are.
    case keep
    /// The oldest takes the input's values, the others are deleted as far as the merge's condition allows.
    case delete
  }

  public var mode: Mode
  public var duplicates: DuplicatePolicy
  public var missingKeys: MissingKeyPolicy
  public var storedDuplicates: StoredDuplicatePolicy
  /// Whether ``Mode/replace`` deletes records of subentities too. They are updated either way.
  public var includesSubentities: Bool
  /// Whether ``Mode/replace`` deletes stored records that lack a part of their key. No input can ever speak of them:
  /// they may have been made here and not have got their key from the server yet.
  public var deletesRecordsWithoutKey: Bool
  /// The largest share of the stored records, from 0 to 1, that ``Mode/replace`` may delete; a merge that would delete
  /// more throws ``ErrorCode/excessiveDeletion`` and deletes nothing.
  ///
  /// The share is that of the records in the merge's filter that were there before it. Records that the merge's
  /// condition protects count as kept.
  ///
  /// `nil` sets no limit, but refuses an input that names no record at all: an empty answer of a service is a failure
  /// more often than the truth. `1` allows that too.
  public var maximumDeletedShare: Double?
  /// Whether the merge saves. Otherwise its changes are left in the context: several merges become one transaction with
  /// the `save` that the caller makes of them, and later ones see what earlier ones did.
  public var saves: Bool

  public init(
    mode: Mode = .upsertOnly, duplicates: DuplicatePolicy = .fail, missingKeys: MissingKeyPolicy = .fail,
    storedDuplicates: StoredDuplicatePolicy = .fail, includesSubentities: Bool = false,
    deletesRecordsWithoutKey: Bool = false, maximumDeletedShare: Double? = nil, saves: Bool = true
  ) {
    self.mode = mode
    self.duplicates = duplicates
    self.missingKeys = missingKeys
    self.storedDuplicates = storedDuplicates
    self.includesSubentities = includesSubentities
    self.deletesRecordsWithoutKey = deletesRecordsWithoutKey
    self.maximumDeletedShare = maximumDeletedShare
    self.saves = saves
  }

  /// Deletes every record that the input does not name, and all records for an empty input: the behaviour of Coherence
  /// 5.
  public static let replaceAll = MergeOptions(mode: .replace, maximumDeletedShare: 1)
}
