/// The changes of a save in the stores, as values: the form in which they travel from context to context.
public struct ChangeSet: Sendable {
  /// The rows of fresh records.
  public var inserted: [Row] = []
  /// The new rows of changed records.
  public var updated: [Row] = []
  /// Changed records without a new row, because a batch request changed them in the store.
  public var refreshed: [ManagedObjectID] = []
  public var deleted: [ManagedObjectID] = []
  /// The to-many relationships, kept as links, whose members changed, by owner.
  public var relinked: [ManagedObjectID: Set<RelationshipDescription>] = [:]
  /// Permanent identifiers of records by the temporary ones that they had.
  public var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]

  public init() {}

  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty && relinked.isEmpty
  }
  /// The number of records concerned.
  public var count: Int { inserted.count + updated.count + refreshed.count + deleted.count + relinked.count }
  public var insertedIDs: [ManagedObjectID] { inserted.map(\.id) }
  public var updatedIDs: [ManagedObjectID] { updated.map(\.id) + refreshed }
}
