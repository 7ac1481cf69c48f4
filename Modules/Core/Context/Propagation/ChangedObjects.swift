/// The objects that changed in a context since its last notification.
///
/// The sets are made on first access, so that changes without an interested observer cost next to nothing. They are of
/// the moment of the notification, at any time of access, and belong to the context that sent it.
public final class ChangedObjects {
  struct Sets {
    var inserted: Set<ManagedObject> = []
    var updated: Set<ManagedObject> = []
    var refreshed: Set<ManagedObject> = []
    var deleted: Set<ManagedObject> = []

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty }
  }

  public var inserted: Set<ManagedObject> { sets.inserted }
  /// Changed in this context.
  public var updated: Set<ManagedObject> { sets.updated }
  /// Changed by others.
  public var refreshed: Set<ManagedObject> { sets.refreshed }
  public var deleted: Set<ManagedObject> { sets.deleted }
  /// Whether so much changed that the objects are not listed.
  public let isEverything: Bool

  /// What the context changed itself, until the sets are made.
  private var records: [PendingRecord]
  private var known: Sets

  /// - Parameter others: What others changed.
  init(_ records: [PendingRecord], _ others: Sets, isEverything: Bool) {
    self.records = records
    known = others
    self.isEverything = isEverything
  }

  /// The same by identifier.
  var changes: ObjectChanges {
    func ids(_ objects: Set<ManagedObject>) -> Set<ManagedObjectID> { Set(objects.map(\.id)) }
    return ObjectChanges(
      inserted: ids(inserted), updated: ids(updated), refreshed: ids(refreshed), deleted: ids(deleted),
      isEverything: isEverything)
  }

  private var sets: Sets {
    makeSets()
    return known
  }

  /// Makes the sets, before the records change or give up their objects.
  func makeSets() {
    guard !records.isEmpty else { return }
    if records.allSatisfy({ $0.kind == .inserted }) { known.inserted.reserveCapacity(records.count) }
    for record in records {
      guard let object = record.object else { continue }
      switch record.kind {
      case .inserted: known.inserted.insert(object)
      case .updated: known.updated.insert(object)
      case .deleted: known.deleted.insert(object)
      }
    }
    known.updated.subtract(known.inserted)
    known.refreshed.subtract(known.inserted)
    records = []
  }
}
