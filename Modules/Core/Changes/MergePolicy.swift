/// Decides how a save deals with a record that another writer changed since the context read it, and with an inserted record
/// whose unique values another record has.
///
/// ## Conflicts
///
/// A context that follows other contexts refreshes its rows from their saves, and keeps its own edits on top of the
/// refreshed rows. Edits of different properties merge in this way and are no conflict; a property that both writers
/// changed is one. The same rule applies to a save that the context has not heard of yet, of another process for
/// example. In a context that follows nobody, every record that another writer changed since it was read is a conflict.
///
/// Every policy except ``error`` loses one of two edits of the same property and reports nothing. Conflicts are found
/// record by record: two saves that each read the record that the other one writes both succeed (write skew). Where a
/// decision rests on a record, write that record too.
///
/// ## Unique values
///
/// Every policy except ``error`` resolves the collision of an inserted record with a record that has its values of a
/// uniqueness constraint. The inserted record *becomes* the other record: its object gets the identifier of that record, and
/// relationships to the inserted record lead to that record. Members that were added to its to-many relationships are added
/// to those of the record, behind the present members of ordered ones. If the context has an object of that record already,
/// or if the record is of a subentity, the inserted object leaves the context, with the saved values and the identifier of
/// the record; ``ManagedObjectContext/object(with:)`` returns the object of the record for the former identifier too. An
/// undo does not delete the record.
///
/// The policy decides about each attribute and to-one relationship between the stored value and the value of the inserted
/// record:
///
/// - ``storeTrumps`` and ``rollback`` keep the stored values.
/// - ``objectTrumps`` takes the values that were assigned. A default of the model, of
///   ``ManagedObject/initializeDefaults()`` or of ``ManagedObject/awakeFromInsert()`` is no assignment.
/// - ``overwrite`` takes all values of the inserted record.
/// - ``byProperty(_:otherwise:)`` and ``custom(_:)`` decide without a base.
///
/// Of several inserted records with equal unique values, the later ones become the first one, in the same way. No policy
/// merges two stored records: for an update that takes the unique value of another record, ``storeTrumps`` gives the former
/// value back and ``rollback`` discards the changes of the record, and the other policies throw
/// ``ErrorCode/uniquenessViolated``. A save also throws it for an inserted record that cannot become a record of the other
/// one's entity.
///
/// The values are decided once, after the validation, whose hooks see the inserted record. A save reads the other records
/// only after the store has refused it. In a save into a parent, nothing is joined before a save into the stores.
///
/// ## Attempts
///
/// Saves of one process that conflict over the same records take turns, so that each of them succeeds. A save that lost
/// four times is tried while the store keeps other writers out, see ``WriterExcluding``. A store that is not a
/// ``WriterExcluding`` and a ``custom(_:)`` policy, whose closure may wait for other writers, exclude nobody: the save is
/// tried again after a random pause that grows, 64 times in all, and then throws ``ErrorCode/versionConflict`` with
/// ``CoherenceError/isRetryable`` set.
///
/// ## Ordered relationships
///
/// An ordered to-many relationship is a value of its record. Where a policy resolves a conflict over an ordered list, the
/// members that either writer added or removed are added or removed. The order is the order of one writer, and members that
/// this writer does not know come last. The saver's order wins, unless ``storeTrumps`` finds that the store's order was
/// changed. Where a policy discards the saver's changes of a record, members that the saver added to its lists come last.
public struct MergePolicy: Sendable {
  indirect enum Kind: Sendable {
    case error, storeTrumps, objectTrumps, overwrite, rollback
    case rules([MergeRule], otherwise: Kind)
    case custom(@Sendable (Conflict) throws -> [AttributeValue]?)
  }
  let kind: Kind
  /// Receives each resolved conflict, and whether the saver's changes were discarded. One save may resolve a conflict over
  /// a record more than once.
  package var observer: (@Sendable (_ conflict: Conflict, _ isDiscarded: Bool) -> Void)?
  /// Returns whether the saver's changes of a record still apply to the row that the store has now. Changes that do not
  /// apply are discarded, and the policy is not asked. Called in the saver's context, as a part of its save.
  package var allows: (@Sendable (_ conflict: Conflict) throws -> Bool)?

  init(kind: Kind) { self.kind = kind }

  /// Whether a save may keep other writers out while conflicts are resolved. A user's closure may wait for another writer.
  var canExcludeWriters: Bool { !isCustom }

  /// Whether a user's closure decides.
  var isCustom: Bool {
    if case .custom = kind.fallback { return true }
    return kind.rules.contains { $0.decision.isClosure }
  }

  /// Whether inserted records become the records that have their unique values.
  var resolvesUniqueness: Bool {
    if case .error = kind.fallback { false } else { true }
  }

  /// Whether an update that takes the unique values of another record gives them back.
  var givesUniqueValuesBack: Bool {
    switch kind.fallback {
    case .storeTrumps, .rollback: true
    case .error, .objectTrumps, .overwrite, .custom, .rules: false
    }
  }

  /// Whether the policy discards the saver's changes of a record in conflict.
  var discardsChanges: Bool {
    if case .rollback = kind { true } else { false }
  }

  /// The save throws ``ErrorCode/versionConflict`` with every conflict in ``CoherenceError/conflicts``, or
  /// ``ErrorCode/uniquenessViolated`` with both records, and writes nothing.
  ///
  /// In a background context, every record that another writer changed since it was read is a conflict. In a view that
  /// follows other contexts, and in a child context, the properties are compared: changes of different properties merge.
  public static let error = MergePolicy(kind: .error)
  /// Property by property, the store's changes win and the saver's other changes are kept. A record deleted in the store
  /// stays deleted. The saver's delete of a record that the store changed is discarded.
  public static let storeTrumps = MergePolicy(kind: .storeTrumps)
  /// Property by property, the saver's changes win and the store's other changes are kept. A record deleted in the store
  /// is restored. The saver's delete wins.
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
  /// A rule decides about a property that both writers changed. A property with a rule that one writer changed has the
  /// value of this writer. The first of several rules for a property counts.
  ///
  /// All other properties follow the other policy: ``error`` fails the save for a conflict that the rules do not resolve
  /// alone. Under ``rollback``, a save that a rule has write the record keeps the changes of to-many relationships. The
  /// other policy decides about deleted records.
  ///
  /// For an inserted record that becomes a stored one, a rule decides about the properties that were assigned, without a
  /// base: a sum counts the base as zero, a closure is called without one, and a property that was not assigned has the
  /// stored value.
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

  /// A user's own policy.
  ///
  /// The save throws the errors of the closure. It throws ``ErrorCode/invalidValue`` for a wrong number of values, and
  /// ``ErrorCode/validationFailed`` for values that do not satisfy the model.
  ///
  /// The closure may read objects of the saver's context, and change and save other contexts. A change of an object of the
  /// saver's context would miss the validation: the save throws ``ErrorCode/illegalState``, writes nothing to the store in
  /// conflict, and the change stays unsaved. A save of the saver's context in the closure throws
  /// ``ErrorCode/illegalState`` too.
  ///
  /// - Parameter resolve: Returns the record's new values, one for each slot, or `nil` to discard the saver's changes.
  ///   Called once for each conflict of each attempt, in the saver's context and on its thread, between two transactions.
  public static func custom(_ resolve: @escaping @Sendable (Conflict) throws -> [AttributeValue]?) -> MergePolicy {
    MergePolicy(kind: .custom(resolve))
  }
}
