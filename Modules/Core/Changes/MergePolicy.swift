/// Decides how a save deals with a record that another writer changed since the context read it.
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
  enum Kind: Sendable {
    case error, storeTrumps, objectTrumps, overwrite, rollback
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
    if case .custom = kind { true } else { false }
  }

  /// The save throws ``ErrorCode/versionConflict`` with every conflict in ``CoherenceError/conflicts``, and writes nothing.
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
