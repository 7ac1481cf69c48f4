public import CoherenceCore

/// The options of a merge.
///
/// By default a merge updates the stored records with the input's keys, inserts the other input records, saves, and
/// deletes nothing. A null clears its attribute or relationship; a property that an input record does not contain keeps
/// its stored value. The merge throws, and changes nothing, for a missing key, for two input records or two stored
/// records with one key, and for an ignored name without a property. Only ``Mode/replace`` deletes stored records that
/// the input does not contain, and by default refuses to delete for an input without records. The exception is
/// ``ActionContext/merge(objects:for:ignoreAttributes:subsetFilter:condition:options:)`` without options, which
/// replaces as in Coherence 5.
public struct MergeOptions: Sendable, Hashable {
  /// The policy for stored records that the input does not contain.
  public enum Mode: Sendable, Hashable {
    /// The merge deletes them, as far as its filter and condition allow. Records of read-only stores stay.
    case replace
    /// They stay stored.
    case upsertOnly
  }

  /// The policy for several input records with one key.
  public enum DuplicatePolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    /// The first record is merged; the later records are skipped.
    case firstWins
    /// The last record is merged; the earlier records are skipped.
    case lastWins
  }

  /// The policy for input records that lack a value of their key.
  public enum MissingKeyPolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    /// The records are left out, and count as skipped.
    case skip
  }

  /// The policy for several stored records with the key of one input record. Only a store with the option
  /// `StoreOption.allowsDuplicateKeys`, and several stores with the entity together, have such records; any other store
  /// keeps keys unique.
  ///
  /// A merge matches the records of all attached stores with the entity. Records that have to stay apart although they
  /// have equal keys, such as those of two users, belong into stores that are attached one after the other, or to
  /// coordinators of their own. A merge prefers the records of writable stores to older records of read-only stores, also
  /// as targets of links, and deletes no record of a read-only store; an input that differs from the values of such a
  /// record is refused with ``ErrorCode/storeReadOnly`` by the save.
  ///
  /// A link by a key that records of several stores have leads to the record in the store of the record with the link, for
  /// a new record in ``store``. Without a record there, the link leads to the record of the first attached store that has
  /// the key. Within the merge's own hierarchy, the link leads to the oldest record, which the merge matches with its
  /// input. The merge throws ``ErrorCode/relationshipCrossesStores`` if that record is in another store than the record
  /// with the link.
  public enum StoredDuplicatePolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/invalidMergeKey`` and changes nothing.
    case fail
    /// The oldest record gets the input's values, and the others stay unchanged.
    case keep
    /// The oldest record gets the input's values, and the merge deletes the others as far as its condition allows.
    case delete
  }

  /// The policy for links to missing records: neither the store nor the input has a record with the key, or the merge
  /// itself deletes the record.
  public enum MissingTargetPolicy: Sendable, Hashable {
    /// The merge throws ``ErrorCode/objectNotFound`` and changes nothing.
    case fail
    /// Links leave missing records out: a stored record keeps the target of its to-one relationship, a new record has
    /// none, and a to-many relationship has the other members. If the other members are fewer than the relationship's
    /// minimum, a stored record keeps its present members. An input record that needs a missing record for a required
    /// relationship or a minimum is not inserted, and counts as skipped. ``MergeResult/missingLinks`` has the number of
    /// the links.
    case leaveOut
  }

  /// The policy for records with local edits.
  public enum ConflictResolution: Sendable, Hashable {
    /// The input wins. Unsaved edits of the view stay in the view, and are a conflict when the view saves them. A
    /// record that another writer changes during the merge gets the input's values, unless the merge's condition
    /// protects the changed record, or the context's merge policy decides otherwise.
    case incomingWins
    /// Local edits win, for each property: the unsaved edits of the view at the time of the plan, and the edits that
    /// other writers save between the plan and the save. Other properties get the input's values. A locally deleted
    /// record is neither changed nor inserted again, and a record with edits is not deleted. Nor does the delete rule of
    /// a deleted record delete a record with unsaved edits of the view. A record whose differing properties are all
    /// edited counts as skipped. The context's merge policy is not used.
    case localWins
  }

  /// The policy for a property that both a pending edit and the server changed, in a Connect with a source of pending
  /// edits; see ``Connect/pendingEdits``.
  ///
  /// The policy decides where the input differs from both the stored value and the server's last known value. A
  /// property that only the server changed gets the input's value, and a property that only the user changed keeps its
  /// edit. Every property of a pending insert whose key the server has too counts as changed by both.
  ///
  /// Under every policy, the merge deletes no pending insert, inserts no record again after its local deletion, and
  /// leaves out links to such a record, and to new records that need it. An edit on its way to the server is kept until
  /// the reply of the server. Under the policies ``keepLocal`` and ``conflict``, the members of a to-many relationship
  /// that the user added or removed stay added or removed, the input decides about all other members, and an edited
  /// order is kept. Under the policy ``server``, the input decides about all members if it differs from the stored list
  /// by another member too, and about the members of every ordered relationship that the user has edited.
  ///
  /// A record that the delete rule of a deleted record reaches is treated as a record that the input would delete. If it
  /// stays and its relationship back to its owner is required, the owner stays until the end of the edit.
  public enum PendingEditsPolicy: Sendable, Hashable {
    /// The edit is kept and will be sent. A record with pending changes that the input would delete is kept as a
    /// conflict for the user.
    case keepLocal
    /// The input wins, and the property's edit is not sent any more. A record that the input deletes is deleted with
    /// its pending changes.
    case server
    /// The edit is kept, and waits until a user has resolved the conflict. The deletion of a record that the server has
    /// changed is a conflict too.
    case conflict
  }

  /// The treatment of stored records that the input does not contain.
  public var mode: Mode
  /// The treatment of several input records with one key.
  public var duplicates: DuplicatePolicy
  /// The treatment of input records that lack a value of their key.
  public var missingKeys: MissingKeyPolicy
  /// The treatment of several stored records with the key of one input record.
  public var storedDuplicates: StoredDuplicatePolicy
  /// Whether ``Mode/replace`` deletes records of subentities. They are updated in any case.
  public var includesSubentities: Bool
  /// Whether ``Mode/replace`` deletes stored records that lack a value of their key. No input can contain them; they
  /// may be local records that wait for a key from the server.
  public var deletesRecordsWithoutKey: Bool
  /// The largest share of the stored records, from 0 to 1, that ``Mode/replace`` may delete; a merge that would delete
  /// more throws ``ErrorCode/excessiveDeletion`` and deletes nothing.
  ///
  /// The share refers to the records in the merge's filter before the merge. Records that the condition protects count
  /// as kept.
  ///
  /// `nil` sets no limit, but refuses deletions for an input without records, because an empty response of a service is
  /// more often a failure than the truth. `1` allows them.
  public var maximumDeletedShare: Double?
  /// Whether the merge saves. Otherwise its changes stay in the context, later merges see them, and one `save` of the
  /// caller commits several merges as one transaction. That save is not planned again after a lost race to another
  /// writer, and does not check conditions and filters again.
  ///
  /// The save of the caller resolves collisions of unique values by the merge policy of the context, and so does the
  /// save of a merge in a context with other changes. Under `MergePolicy.objectTrumps`, the policy of an
  /// ``ActionContext``, an inserted record with a unique value of a stored record becomes that record: if the value is
  /// not part of the key, the stored record takes the key and the values of the input, and loses its own. Set
  /// `mergePolicy` of the context to `.error` if the entity has unique values beside its key: such a save then throws
  /// `ErrorCode.uniquenessViolated`, and a page with the record that gives the value up resolves the collision.
  public var saves: Bool
  /// Whether the input or local edits win.
  public var conflictResolution: ConflictResolution
  /// Whether pending edits or the input win in properties that both changed.
  public var pendingEdits: PendingEditsPolicy
  /// The treatment of links to missing records.
  public var missingTargets: MissingTargetPolicy
  /// The beginning of the request for the input. The input may be older than an edit that the server has confirmed
  /// since then: the merge neither puts back a value from before the edit, nor deletes a record because the input lacks
  /// it, nor inserts a record again after its confirmed deletion. Any other value is newer than the edit, and is
  /// merged.
  ///
  /// `nil` for the time at which the context was made: the beginning of the attempt, in an action. An action that
  /// merges what a server pushes over hours sets the time at which each message arrives.
  public var requestedAt: ContinuousClock.Instant?
  /// The store of the records that the merge inserts; `nil` for the store that the context chooses for each new record,
  /// see ``ManagedObjectContext/assign(_:to:)``. The input is matched with the records of all attached stores.
  ///
  /// A merge throws ``ErrorCode/storeDetached`` for an unattached store, and ``ErrorCode/noStore`` when the store does
  /// not hold the entity of a record to insert.
  public var store: StoreIdentifier?
  /// The keys of the records to delete, if the input names them. The caller limits the deletion to these records by the
  /// subset filter; the option itself decides about pending edits only.
  var tombstones: Set<MergeKey>?
  /// Whether the input is a page of a merge with the mode ``Mode/replace``.
  var isPageOfWhole = false
  /// Whether the input is a page of changes, whose changes the server does not send again.
  var isPageOfChanges = false

  /// Whether the input contains all records, so that the next merge brings a record again that this one leaves out.
  var isWhole: Bool { isPageOfWhole || mode == .replace && tombstones == nil }

  /// Makes options. With the defaults, a merge only inserts and updates records, refuses ambiguous keys, lets the input
  /// win over unsaved edits, lets pending edits win over the input, refuses links to missing records, and saves.
  public init(
    mode: Mode = .upsertOnly, duplicates: DuplicatePolicy = .fail, missingKeys: MissingKeyPolicy = .fail,
    storedDuplicates: StoredDuplicatePolicy = .fail, includesSubentities: Bool = false,
    deletesRecordsWithoutKey: Bool = false, maximumDeletedShare: Double? = nil, saves: Bool = true,
    conflictResolution: ConflictResolution = .incomingWins, pendingEdits: PendingEditsPolicy = .keepLocal,
    requestedAt: ContinuousClock.Instant? = nil, store: StoreIdentifier? = nil,
    missingTargets: MissingTargetPolicy = .fail
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
    self.pendingEdits = pendingEdits
    self.requestedAt = requestedAt
    self.store = store
    self.missingTargets = missingTargets
  }

  /// The options of Coherence 5, which delete every record that the input does not contain, also for an empty input.
  /// Records of subentities and records without a key stay.
  public static let replaceAll = MergeOptions(mode: .replace, maximumDeletedShare: 1)
}
