/// The objects that changed in a context since its last notification.
///
/// The sets are made on first access, so that a notification without an interested observer costs next to nothing. They
/// describe the moment of the notification, whenever they are read. Read them in the context that sent the
/// notification.
public final class ChangedObjects {
  struct Sets {
    var inserted: Set<ManagedObject> = []
    var updated: Set<ManagedObject> = []
    var refreshed: Set<ManagedObject> = []
    var deleted: Set<ManagedObject> = []

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty }
  }

  /// The objects inserted in this context, and records of other writers that the context now shows for the first time.
  public var inserted: Set<ManagedObject> { sets.inserted }
  /// The objects changed in this context.
  public var updated: Set<ManagedObject> { sets.updated }
  /// The objects refreshed with the changes of other writers.
  public var refreshed: Set<ManagedObject> { sets.refreshed }
  /// The objects deleted, in this context or by other writers.
  public var deleted: Set<ManagedObject> { sets.deleted }
  /// Whether the changes were too many to be listed. The sets may then be incomplete: every object of the context may
  /// have changed.
  public let isEverything: Bool

  /// The context's own changes. Emptied when the sets are made.
  private var records: [PendingRecord]
  private var known: Sets

  /// - Parameter others: The objects refreshed with the changes of other writers.
  init(_ records: [PendingRecord], _ others: Sets, isEverything: Bool) {
    self.records = records
    known = others
    self.isEverything = isEverything
  }

  /// The changes by identifier, for observers on other threads.
  var changes: ObjectChanges {
    func ids(_ objects: Set<ManagedObject>) -> Set<ManagedObjectID> { Set(objects.map(\.recordID)) }
    return ObjectChanges(
      inserted: ids(inserted), updated: ids(updated), refreshed: ids(refreshed), deleted: ids(deleted),
      isEverything: isEverything)
  }

  private var sets: Sets {
    makeSets()
    return known
  }

  /// Makes the sets. To be called before the records change or release their objects.
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
