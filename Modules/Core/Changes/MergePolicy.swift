/// The rule by which a save resolves its conflicts with other writers: records that another writer changed since the
/// context read them, and inserted records with the unique values of a stored record.
///
/// ## Conflicts
///
/// A context that follows other contexts refreshes its rows from their saves, and keeps its own edits on top of the
/// refreshed rows. Edits of different properties merge in this way without a conflict. Two edits of the same property
/// are a conflict. The same rule applies to a save that the context has not merged yet, for example of another process.
/// In a context that follows no other context, each record that another writer changed since the read is a conflict.
///
/// A policy other than ``error`` resolves two edits of the same property silently: the edit of one writer is lost,
/// unless a rule or a closure combines both edits. Conflicts are found record by record. So two saves succeed
/// although each of them read a record that the other one writes (write skew). Where a decision depends on a record,
/// write that record too.
///
/// ## Unique values
///
/// Every policy except ``error`` resolves the collision of an inserted record with a stored record of the same values
/// in a uniqueness constraint. The inserted record *becomes* the stored record: its object gets the stored record's
/// identifier, and relationships to the inserted record lead to the stored record. Members added to its to-many
/// relationships are added to the stored record, behind the present members of ordered relationships.
///
/// If the context has an object of the stored record already, or if the stored record is of a subentity, the inserted
/// object leaves the context. It keeps the saved values and the stored record's identifier.
/// ``ManagedObjectContext/object(with:)`` then returns the stored record's object for the former identifier too. An
/// undo does not delete the stored record.
///
/// A ``WeakReference`` to the inserted record, which has obtained its identifier before the save, leads to the stored
/// record too if the same save writes the reference into the same store. A weak reference in another store, or of
/// another save, keeps the unused identifier and dangles.
///
/// The policy decides about each attribute and to-one relationship between the stored value and the value of the
/// inserted record:
///
/// - ``storeTrumps`` and ``rollback`` keep the stored values.
/// - ``objectTrumps`` takes the assigned values. A default of the model, of ``ManagedObject/initializeDefaults()`` or
///   of ``ManagedObject/awakeFromInsert()`` is no assignment.
/// - ``overwrite`` takes all values of the inserted record.
/// - ``byProperty(_:otherwise:)`` and ``custom(_:)`` decide without a base.
///
/// Of several inserted records with equal unique values, the later ones become the first one, in the same way. No
/// policy merges two stored records: for an update that takes the unique value of another record, ``storeTrumps`` gives
/// the former value back and ``rollback`` discards the changes of the record, and the other policies throw
/// ``ErrorCode/uniquenessViolated``. A save also throws this error when the stored record is of neither the inserted
/// record's entity nor one of its subentities.
///
/// The policy decides after the validation, whose hooks see the inserted record. A save reads the stored records only
/// after the store has refused it, so that an ordinary save reads nothing. A save into a parent resolves no collision;
/// the parent's save into the stores does.
///
/// ## Attempts
///
/// Saves of one process that conflict over the same records run one after the other, so that each of them succeeds.
/// After four failed attempts, the store keeps other writers out during further attempts, see ``WriterExcluding``.
/// Other writers are not kept out by a store without ``WriterExcluding``, and not under a policy with a closure, because
/// the closure may wait for another writer. Such a save is tried again after random pauses that grow, 64 times in all. It
/// then throws ``ErrorCode/versionConflict`` with ``CoherenceError/isRetryable`` set.
///
/// ## Ordered relationships
///
/// An ordered to-many relationship is a value of its record. The resolution of a conflict over an ordered list applies
/// the additions and removals of both writers. The order is the order of one writer, and members that this writer does
/// not know come last. The saver's order wins, except under ``storeTrumps`` when the other writer changed the order.
/// Where a policy discards the saver's changes of a record, members that the saver added to its lists come last.
///
/// ## One-to-one relationships
///
/// Both sides of a one-to-one relationship are values of their records. After the policy has decided about a record in
/// conflict, the other records follow: a partner that the record loses does not lead to the record any more, and a
/// partner that the record keeps leads to it again. If the policy decides about both records of a pair, the record whose
/// reference the saver has changed goes first. A record that the save restores has no partner if the former partner has
/// another one since. A save throws ``ErrorCode/versionConflict`` if a record needs the reference that it would
/// lose. After the save, the unchanged objects of the saving context show the partners that the store has of these
/// records.
public struct MergePolicy: Sendable {
  indirect enum Kind: Sendable {
    case error, storeTrumps, objectTrumps, overwrite, rollback
    case rules([MergeRule], otherwise: Kind)
    case custom(@Sendable (Conflict) throws -> [AttributeValue]?)
  }
  let kind: Kind
  /// Receives each resolved conflict, and whether the saver's changes were discarded. One save may resolve a conflict
  /// over a record more than once.
  package var observer: (@Sendable (_ conflict: Conflict, _ isDiscarded: Bool) -> Void)?
  /// Returns whether the saver's changes of a record still apply to the row that the store has now. Changes that do not
  /// apply are discarded without a call of the policy. Called in the saver's context, as a part of its save.
  package var allows: (@Sendable (_ conflict: Conflict) throws -> Bool)?

  init(kind: Kind) { self.kind = kind }

  /// Whether a save may keep other writers out while conflicts are resolved. A user's closure may wait for another
  /// writer.
  var canExcludeWriters: Bool { !isCustom }

  /// Whether a closure of the user decides, for all properties or for some.
  var isCustom: Bool {
    if case .custom = kind.fallback { return true }
    return kind.rules.contains { $0.decision.isClosure }
  }

  /// Whether an inserted record becomes the stored record with the same unique values.
  var resolvesUniqueness: Bool {
    if case .error = kind.fallback { false } else { true }
  }

  /// Whether an update to another record's unique values restores the former unique values, instead of failing the
  /// save.
  var givesUniqueValuesBack: Bool {
    switch kind.fallback {
    case .storeTrumps, .rollback: true
    case .error, .objectTrumps, .overwrite, .custom, .rules: false
    }
  }

  /// Whether the policy is ``objectTrumps``: the save writes the properties that the saver changed, and keeps the
  /// store's values of all other properties.
  package var isObjectTrumps: Bool {
    if case .objectTrumps = kind { true } else { false }
  }

  /// Whether the policy discards the saver's changes of a record in conflict.
  var discardsChanges: Bool {
    if case .rollback = kind { true } else { false }
  }

  /// No conflict is resolved: the save throws ``ErrorCode/versionConflict`` with every conflict in
  /// ``CoherenceError/conflicts``, or ``ErrorCode/uniquenessViolated`` with both records, and writes nothing.
  ///
  /// In a context that follows no other context and has no parent, each record that another writer changed since the
  /// read is a conflict. In a context that follows other contexts, and in a child context, the properties are compared:
  /// changes of different properties merge. For a context that follows other contexts and saves into the stores, a record
  /// that both writers have deleted is no conflict.
  public static let error = MergePolicy(kind: .error)
  /// Property by property, the store's changes win and the saver's other changes are kept. A record deleted in the
  /// store stays deleted. The saver's delete of a record that the store changed is discarded.
  public static let storeTrumps = MergePolicy(kind: .storeTrumps)
  /// Property by property, the saver's changes win and the store's other changes are kept. A record deleted in the
  /// store is restored. The saver's delete wins.
  public static let objectTrumps = MergePolicy(kind: .objectTrumps)
  /// The saver's whole record wins, including the properties that only the store changed.
  public static let overwrite = MergePolicy(kind: .overwrite)
  /// The saver's changes of the record are discarded; the object shows the store's row after the save.
  public static let rollback = MergePolicy(kind: .rollback)

  /// Rules for some properties, and another policy for the rest.
  ///
  /// ```swift
  /// context.mergePolicy = .byProperty(
  ///   [.rule(\Track.plays, .sum), .rule("rating", of: "Track", .larger)], otherwise: .storeTrumps)
  /// ```
  /// A rule decides about a property that both writers changed. A property that one writer changed has this writer's
  /// value. The first of several rules for a property counts.
  ///
  /// All other properties follow the fallback policy, which also decides about deleted records. Under ``error``, a
  /// conflict over a property without a rule fails the save. Under ``rollback``, a record that a rule changes is
  /// written, with the saver's changes of its to-many relationships.
  ///
  /// When an inserted record becomes a stored record, a rule decides about each assigned property, without a base: a
  /// sum counts the base as zero, and a closure receives `nil`. A property without an assignment keeps the stored
  /// value.
  ///
  /// - Parameters:
  ///   - rules: The rules. A save checks that the model has their properties.
  ///   - fallback: The policy for all other properties.
  public static func byProperty(_ rules: [MergeRule], otherwise fallback: MergePolicy) -> MergePolicy {
    var policy = MergePolicy(kind: .rules(rules, otherwise: fallback.kind))
    policy.observer = fallback.observer
    policy.allows = fallback.allows
    return policy
  }

  /// A policy whose closure returns the values that the save writes.
  ///
  /// An error of the closure fails the save. The save throws a ``CoherenceError`` as it is, and any other error as the
  /// ``CoherenceError/underlying`` error of a ``CoherenceError``. It throws ``ErrorCode/invalidValue`` for a wrong
  /// number of values, and ``ErrorCode/validationFailed`` for values that do not satisfy the model.
  ///
  /// The closure may read objects of the saver's context, and change and save other contexts. A change of an object of
  /// the saver's context would miss the validation: the save throws ``ErrorCode/illegalState``, writes nothing to the
  /// store in conflict, and the change stays unsaved. A save of the saver's context in the closure throws
  /// ``ErrorCode/illegalState`` too.
  ///
  /// - Parameter resolve: Returns the record's new values, one for each slot, or `nil` to discard the saver's changes.
  ///   Called once for each conflict of each attempt, in the saver's context and on its thread, between two
  ///   transactions.
  public static func custom(_ resolve: @escaping @Sendable (Conflict) throws -> [AttributeValue]?) -> MergePolicy {
    MergePolicy(kind: .custom(resolve))
  }
}
