/// How a save deals with a record that another writer changed since it was read.
///
/// A save that came in before, because the context follows the other writer, is put below the changes of the context.
/// Changes of different properties are merged by that and are no conflict. A property that both have changed is one. The
/// same holds for a save that such a context has not heard of yet: of another process, or of the last moment.
///
/// Every policy but ``error`` loses one of two edits of the same property, and reports nothing: choose one where this
/// is wanted. Conflicts are seen record by record. Two saves that each read what the other one writes, and write
/// different records, both pass (write skew): write the record that the decision rests on too, where that matters.
///
/// Saves of one process that conflict over the same records take turns, so that each comes through. A save that lost four
/// times is tried while the store keeps other writers out, see ``WriterExcluding``. With a store that is not able to, and
/// with a ``custom(_:)`` policy, whose closure may wait for others, a save tries again after a random pause that grows, 64
/// times; then it throws ``ErrorCode/versionConflict``, with ``CoherenceError/isRetryable`` set.
///
/// An ordered to-many relationship is a value of its record. Where a policy resolves a conflict over one, members that
/// either writer added or removed are added or removed; the order is that of one writer, and members that it does not know
/// come last. The order is the saver's, unless ``storeTrumps`` finds that the store's was changed. Where a policy gives up
/// the saver's changes of a record, members that the saver put into its lists come last.
public struct MergePolicy: Sendable {
  enum Kind: Sendable {
    case error, storeTrumps, objectTrumps, overwrite, rollback
    case custom(@Sendable (Conflict) throws -> [AttributeValue]?)
  }
  let kind: Kind
  /// Receives each decided conflict, and whether the saver's changes were given up. A conflict may be decided more than
  /// once in one save.
  package var observer: (@Sendable (_ conflict: Conflict, _ isGivenUp: Bool) -> Void)?
  /// Decides whether the saver's changes of a record may still be made with the row that the store has by now. Changes
  /// that may not are given up before the policy is asked. Called in the saver's context, as a part of its save.
  package var allows: (@Sendable (_ conflict: Conflict) throws -> Bool)?

  init(kind: Kind) { self.kind = kind }

  /// Whether a save may keep other writers out while conflicts are resolved. A closure of the user's may wait for them.
  var canExcludeWriters: Bool {
    if case .custom = kind { false } else { true }
  }

  /// The save fails with ``ErrorCode/versionConflict``, and the error has every conflict.
  ///
  /// In a background context, every record that another writer changed since it was read is a conflict. In a view that
  /// follows other contexts, or is the child of one, the properties are compared: changes of different properties merge.
  public static let error = MergePolicy(kind: .error)
  /// Property by property: the store's changes win, the saver's other changes are kept. A record deleted in the store
  /// stays deleted; a delete of a record that the store changed is given up.
  public static let storeTrumps = MergePolicy(kind: .storeTrumps)
  /// Property by property: the saver's changes win, the store's other changes are kept. A record deleted in the store
  /// is put back; a delete wins.
  public static let objectTrumps = MergePolicy(kind: .objectTrumps)
  /// The saver's whole record wins, properties that only the store changed included.
  public static let overwrite = MergePolicy(kind: .overwrite)
  /// The saver's changes to the record are given up.
  public static let rollback = MergePolicy(kind: .rollback)

  /// A policy of the user's own.
  ///
  /// - Parameter resolve: Returns the record's new values, one for each slot, or `nil` to give up the saver's changes.
  ///   The save throws the closure's errors. Called in the saver's context. Values that do not satisfy the model fail
  ///   the save with ``ErrorCode/validationFailed``.
  public static func custom(_ resolve: @escaping @Sendable (Conflict) throws -> [AttributeValue]?) -> MergePolicy {
    MergePolicy(kind: .custom(resolve))
  }

  /// What becomes of the saver's change.
  enum Resolution {
    case fail
    /// The record gets these values.
    case write([AttributeValue])
    case delete
    /// The saver's changes are discarded.
    case discard
  }

  /// - Parameters:
  ///   - changed: The slots that the saver changed.
  ///   - mergesProperties: Whether changes of different properties are merged without a conflict, as they are when the
  ///     other save comes in before.
  func resolve(_ conflict: Conflict, changed: SlotSet, mergesProperties: Bool) throws -> Resolution {
    if mergesProperties, case .error = kind, let values = conflict.mergedProperties(changed) { return .write(values) }
    let isAllowed = try allows?(conflict) ?? true
    let resolution = isAllowed ? try decision(conflict, changed: changed) : .discard
    switch resolution {
    case .write, .delete: observer?(conflict, false)
    case .discard: observer?(conflict, true)
    case .fail: break
    }
    return resolution
  }

  /// Whether the saver's order of a list wins.
  func keepsOrder(of list: ListConflict) -> Bool {
    if case .storeTrumps = kind { list.ancestor == nil || list.ancestor == list.store } else { true }
  }

  private func decision(_ conflict: Conflict, changed: SlotSet) throws -> Resolution {
    switch kind {
    case .error: return .fail
    case .rollback: return .discard
    case .custom(let resolve):
      guard let values = try resolve(conflict) else { return .discard }
      var answer = PolicyAnswer(to: conflict)
      var checked = try answer.checked(values)
      if let mine = conflict.mine, let store = conflict.store { Self.movePlaces(of: mine, store, in: &checked) }
      return .write(checked)
    case .storeTrumps:
      guard let mine = conflict.mine, let store = conflict.store else { return .discard }
      var values = store.values
      for slot in changed where conflict.ancestor?[slot] == store[slot] { values[slot] = mine[slot] }
      Self.movePlaces(of: mine, store, in: &values)
      return .write(values)
    case .objectTrumps:
      guard let mine = conflict.mine else { return .delete }
      guard let store = conflict.store else { return .write(mine.values) }
      var values = store.values
      for slot in changed { values[slot] = mine[slot] }
      Self.movePlaces(of: mine, store, in: &values)
      return .write(values)
    case .overwrite:
      guard let mine = conflict.mine else { return .delete }
      return .write(mine.values)
    }
  }

  /// Has each place go with the owner whose list it counts in, the reference in the slot before.
  private static func movePlaces(of mine: Row, _ store: Row, in values: inout [AttributeValue]) {
    for slot in values.indices.dropFirst() {
      guard case .position = mine.entity.slots[slot], mine[slot - 1] != store[slot - 1] else { continue }
      values[slot] = values[slot - 1] == mine[slot - 1] ? mine[slot] : store[slot]
    }
  }
}
