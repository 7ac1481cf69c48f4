/// The choices of a merge.
///
/// By default a merge updates the records that have the input's keys, inserts the others, saves, and deletes nothing: what the
/// input does not name stays. A null clears its attribute or relationship, and what an input record says nothing of keeps its
/// value. The merge throws, and changes nothing, when two input records or two stored ones have one key, when a key is missing,
/// and when an ignored name is no property of the entity. Deleting what the input does not name takes ``Mode/replace``, which
/// refuses an input without records. The one exception is
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

  /// What to do when several records in the stores have the key of one input record: in a store that is attached with
  /// `StoreOption.allowsDuplicateKeys`, because every other store keeps keys unique.
  public enum StoredDuplicatePolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    /// The oldest takes the input's values, the others stay as they are.
    case keep
    /// The oldest takes the input's values, the others are deleted as far as the merge's condition allows.
    case delete
  }

  /// Whose values a record gets that was edited here while its values came from elsewhere.
  public enum ConflictResolution: Sendable, Hashable {
    /// The input's. Edits that the view has not saved stay in the view, and are a conflict when the view saves them. A
    /// record that another writer changes during the merge gets the input's values, unless the merge's condition protects
    /// the record by then, or the context's merge policy says otherwise.
    case incomingWins
    /// The user's, property by property: edits that the view has not saved when the merge is planned, and edits that other
    /// writers save between the merge's plan and its save. Other properties get the input's values. A record that was
    /// deleted here is neither changed nor inserted again, and a record with edits is not deleted. Records that lose
    /// nothing but edited properties count as skipped. The context's merge policy is not asked.
    case localWins
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
  /// the `save` that the caller makes of them, and later ones see what earlier ones did. A save of the caller's that
  /// loses a race to another writer is not planned again, and does not look at conditions and filters once more.
  public var saves: Bool
  /// Whether the input or the user's unsaved and newer edits win.
  public var conflictResolution: ConflictResolution

  public init(
    mode: Mode = .upsertOnly, duplicates: DuplicatePolicy = .fail, missingKeys: MissingKeyPolicy = .fail,
    storedDuplicates: StoredDuplicatePolicy = .fail, includesSubentities: Bool = false,
    deletesRecordsWithoutKey: Bool = false, maximumDeletedShare: Double? = nil, saves: Bool = true,
    conflictResolution: ConflictResolution = .incomingWins
  ) {
    self.mode = mode
    self.duplicates = duplicates
    self.missingKeys = missingKeys
    self.storedDuplicates = storedDuplicates
    self.includesSubentities = includesSubentities
    self.deletesRecordsWithoutKey = deletesRecordsWithoutKey
    self.maximumDeletedShare = maximumDeletedShare
    self.saves = saves
    self.conflictResolution = conflictResolution
  }

  /// Deletes every record that the input does not name, and all records for an empty input: the behaviour of Coherence
  /// 5.
  public static let replaceAll = MergeOptions(mode: .replace, maximumDeletedShare: 1)
}
