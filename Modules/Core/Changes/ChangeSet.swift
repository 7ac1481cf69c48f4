/// The changes that one save or one batch request made in the stores, or in a parent context, as values that contexts
/// pass to each other.
///
/// A context posts a change set after each save and each batch request; see
/// ``ManagedObjectContext/mergeChanges(fromContextDidSave:)-(ChangeSet)``. The rows are shared buffers, so that a copy
/// of the set copies no values. May be passed to any thread.
public struct ChangeSet: Sendable {
  /// The rows of inserted records, with permanent identifiers. After a save into a parent, in which the records are
  /// unsaved, the identifiers are temporary.
  public var inserted: [Row] = []
  /// The new rows of changed records.
  public var updated: [Row] = []
  /// The records whose new rows are unknown, because a batch request changed them in the store. Contexts load them
  /// anew.
  public var refreshed: [ManagedObjectID] = []
  /// The identifiers of the deleted records: permanent ones, unless a child deletes a record that only its parent has.
  public var deleted: [ManagedObjectID] = []
  /// For each owner, the to-many relationships stored as links with changed members.
  public var relinked: [ManagedObjectID: Set<RelationshipDescription>] = [:]
  /// The permanent identifiers of inserted records by their former temporary identifiers.
  public var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
  /// The links that a save into stores added and removed; `nil` for none. Shares the memory of the save.
  var links: SavedLinks?

  /// Makes a set without changes.
  public init() {}

  /// Whether no record and no relationship changed. A set that only has ``permanentIDs`` is empty.
  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty && relinked.isEmpty
  }
  /// The number of changes: inserted, updated and deleted records, and owners of changed relationships. A record that
  /// is in several lists counts in each.
  public var count: Int { inserted.count + updated.count + refreshed.count + deleted.count + relinked.count }
  /// The identifiers of ``inserted``. Each access makes an array.
  public var insertedIDs: [ManagedObjectID] { inserted.map(\.id) }
  /// The identifiers of ``updated``, then ``refreshed``. Each access makes an array.
  public var updatedIDs: [ManagedObjectID] { updated.map(\.id) + refreshed }
}
