/// The changes that one save made in the stores, as values that contexts pass to each other.
///
/// A context posts a change set after each save; see
/// ``ManagedObjectContext/mergeChanges(fromContextDidSave:)-(ChangeSet)``. The rows are shared buffers, so that a copy
/// of the set copies no values. May be passed to any thread.
public struct ChangeSet: Sendable {
  /// The rows of inserted records, with permanent identifiers.
  public var inserted: [Row] = []
  /// The new rows of changed records.
  public var updated: [Row] = []
  /// The records whose new rows are unknown, because a batch request changed them in the store. Contexts load them
  /// anew.
  public var refreshed: [ManagedObjectID] = []
  /// The deleted records, by permanent identifier.
  public var deleted: [ManagedObjectID] = []
  /// The to-many relationships stored as links whose members changed, by owner.
  public var relinked: [ManagedObjectID: Set<RelationshipDescription>] = [:]
  /// The permanent identifiers of inserted records by their former temporary identifiers.
  public var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]

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
