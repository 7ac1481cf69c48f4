/// The changes that one save or batch request made in the stores, record by record, for live results.
struct StoreChanges: Sendable {
  /// The change of one record.
  struct Record: Sendable {
    let id: ManagedObjectID
    /// The record's entity, or an ancestor of the entity: the stores of a batch request do not return exact entities.
    let entity: EntityDescription
    let kind: EntityChangeKind
    /// The changed slots of an update; `nil` for unknown slots, and for an insert or a delete.
    var slots: SlotSet?
    /// The row before the change; `nil` for an unknown row, and for an insert.
    var base: Row?
    /// The row after the change; `nil` for an unknown row, and for a delete.
    var row: Row?
    /// Whether the save restored a deleted record.
    var isRestored = false
  }

  var records: [Record] = []
  /// The to-many relationships whose members changed, by owner.
  var relinked: [ManagedObjectID: Set<RelationshipDescription>] = [:]
  /// The to-many relationships whose members a batch request changed. The owners are unknown, because the stores do not
  /// return the former rows.
  var relinkedByBatch: Set<RelationshipDescription> = []
  /// The permanent identifiers of inserted records by their former temporary identifiers.
  var renamed: [ManagedObjectID: ManagedObjectID] = [:]
  /// Whether the rows may be out of date, because another save ran at the same time. Receivers then read the rows
  /// again.
  var isOverlapped = false
  /// The root entities of the changed records, set by ``noteRoots()``. A receiver skips changes of roots that do not
  /// concern it.
  private(set) var roots: Set<ObjectIdentifier> = []

  var isEmpty: Bool { records.isEmpty && relinked.isEmpty && relinkedByBatch.isEmpty && renamed.isEmpty }
  /// The number of listed changes.
  var count: Int { records.count + relinked.count + relinkedByBatch.count + renamed.count }

  /// Sets ``roots``. Called when the changes are complete.
  mutating func noteRoots() {
    roots = []
    // Most records are of one entity in a row.
    var latest: EntityDescription?
    for record in records where record.entity !== latest {
      roots.insert(ObjectIdentifier(record.entity.root))
      latest = record.entity
    }
    for id in renamed.keys { roots.insert(ObjectIdentifier(id.entity.root)) }
    roots.formUnion(ownerRoots)
  }

  /// The root entities of the owners whose members changed.
  var ownerRoots: Set<ObjectIdentifier> {
    var roots = Set(relinkedByBatch.lazy.map { ObjectIdentifier($0.entity.root) })
    for id in relinked.keys { roots.insert(ObjectIdentifier(id.entity.root)) }
    return roots
  }

  /// Adds records of a batch request.
  mutating func add(
    batch ids: [ManagedObjectID], of entity: EntityDescription? = nil, as kind: EntityChangeKind, slots: SlotSet? = nil
  ) {
    for id in ids { records.append(Record(id: id, entity: entity ?? id.entity, kind: kind, slots: slots)) }
  }
}

/// An event of the stores that concerns live results.
enum StoreEvent: Sendable {
  /// A save or a batch request changed records.
  case changed(StoreChanges)
  /// Any record may have changed: another process or coordinator wrote, or a store was attached.
  case everything
  /// A store was detached. The store itself, because the next store at its location has the same identifier.
  case detached(any AnyObject & Sendable)
}

/// Receives the events of a coordinator's stores, on the thread of the save.
protocol StoreEventReceiver: AnyObject, Sendable {
  /// Receives an event. Returns quickly, and uses no context.
  func receive(_ event: StoreEvent)
}
