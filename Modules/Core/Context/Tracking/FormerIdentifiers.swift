/// The present identifiers of records whose identifiers a save or a parent has replaced, by the former identifiers.
struct FormerIdentifiers: Sendable {
  /// The number of noted identifiers above which the older half is dropped, see ``dropUnexposed()``.
  static let bound = 100_000

  /// The permanent identifiers by temporary identifiers that users or children know.
  private var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
  /// The stored records that inserted records became in saves, by the permanent identifiers that the inserted records
  /// had obtained before; see ``MergePolicy``.
  private var joinedIDs: [ManagedObjectID: ManagedObjectID] = [:]
  /// The identifiers by which undos have inserted deleted records again, by the identifiers of the deleted records. A
  /// deleted record's identifier does not lead to the new record: only an undo asks for it.
  private var reinsertedIDs: [ManagedObjectID: ManagedObjectID] = [:]
  /// The temporary identifiers in ``permanentIDs`` that the context has not shown to the user, in the order of their
  /// notes.
  private var unexposedIDs: [ManagedObjectID] = []

  /// Makes a former identifier of a record lead to the present one.
  ///
  /// - Parameter isExposed: Whether the user may know the former identifier from the context.
  mutating func note(_ id: ManagedObjectID, of former: ManagedObjectID, isExposed: Bool) {
    guard former.isTemporaryID else { return joinedIDs[former] = id }
    let isNew = permanentIDs.updateValue(id, forKey: former) == nil
    // A collapsed inbox names all identifiers of the parents again. Those that the user knows stay exposed.
    if isNew, !isExposed { unexposedIDs.append(former) }
  }

  /// Returns the present identifier of a record, given a former identifier: its temporary identifier, or the identifier
  /// of an inserted record that became another record.
  func current(_ id: ManagedObjectID) -> ManagedObjectID {
    let id = id.isTemporaryID ? permanentIDs[id] ?? id : id
    return joinedIDs.isEmpty ? id : joinedIDs[id] ?? id
  }

  /// Records that an undo has inserted a deleted record again, or that the record exists again by its own identifier.
  mutating func note(_ id: ManagedObjectID, reinserting deleted: ManagedObjectID) {
    reinsertedIDs[deleted] = id
    // The record with the identifier exists.
    reinsertedIDs[id] = nil
  }

  /// Returns the present identifier of the record that an undo has inserted in place of a deleted record; `nil` without
  /// an insert.
  func reinserted(_ deleted: ManagedObjectID) -> ManagedObjectID? { reinsertedIDs[deleted].map(current) }

  /// Returns the present identifier of a record, also of a deleted record that an undo has inserted again.
  func currentOrReinserted(_ id: ManagedObjectID) -> ManagedObjectID {
    var id = current(id)
    // The new record becomes the deleted record in a save if another writer has restored the deleted record, and both
    // have the same unique values. The identifiers then lead to each other.
    for _ in 0..<reinsertedIDs.count {
      guard let present = reinsertedIDs[id].map(current), present != id else { break }
      id = present
    }
    return id
  }

  /// Forgets records that were inserted again, except for some deleted records.
  mutating func dropReinserted(except isNeeded: (ManagedObjectID) -> Bool) {
    reinsertedIDs = reinsertedIDs.filter { isNeeded($0.key) }
  }

  /// All present identifiers by the former ones.
  var all: [ManagedObjectID: ManagedObjectID] {
    guard !joinedIDs.isEmpty else { return permanentIDs }
    return permanentIDs.mapValues { joinedIDs[$0] ?? $0 }.merging(joinedIDs) { first, _ in first }
  }

  /// The number of former identifiers. For tests.
  var count: Int { permanentIDs.count + joinedIDs.count }

  /// Whether the identifiers that the user does not know exceed the ``bound``.
  var isAboveBound: Bool { unexposedIDs.count > Self.bound }

  /// Drops the older temporary identifiers that the context has not shown to the user. To be called when no child knows
  /// them any more.
  ///
  /// The newest ones stay, half as many as the ``bound``: a child may have shown identifiers to the user, who looks them
  /// up here soon after.
  mutating func dropUnexposed() {
    let dropped = unexposedIDs.prefix(max(0, unexposedIDs.count - Self.bound / 2))
    for id in dropped { permanentIDs[id] = nil }
    unexposedIDs = Array(unexposedIDs.dropFirst(dropped.count))
  }
}
