/// The objects that changed in a context since its last notification.
///
/// The sets are made on first access, so that an unread notification costs next to nothing. They always describe the
/// time of the notification. To be used inside the context that sent the notification.
public final class ChangedObjects {
  /// The changed objects by kind of change.
  struct Sets {
    var inserted: Set<ManagedObject> = []
    var updated: Set<ManagedObject> = []
    var refreshed: Set<ManagedObject> = []
    var deleted: Set<ManagedObject> = []
    /// The former identifiers of inserted objects that became stored records with the same unique values, by which
    /// observers know the objects; see ``MergePolicy``.
    var formerIDs: [ObjectIdentifier: ManagedObjectID] = [:]

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty }
  }

  /// The objects inserted in this context, and objects of records that other writers inserted. An object of this set is
  /// neither in ``updated`` nor in ``refreshed``.
  public var inserted: Set<ManagedObject> { sets.inserted }
  /// The objects changed in this context.
  public var updated: Set<ManagedObject> { sets.updated }
  /// The objects refreshed with the changes of other writers.
  public var refreshed: Set<ManagedObject> { sets.refreshed }
  /// The objects deleted, in this context or by other writers.
  ///
  /// The first access makes the objects of records that a cascade deletes without objects.
  public var deleted: Set<ManagedObject> {
    makeSets()
    for record in bareDeletes { collected.deleted.insert(object(of: record)) }
    bareDeletes = []
    return collected.deleted
  }
  /// Whether the changes are too many for a list. The sets may then be incomplete, and every object of the context may
  /// have changed.
  public let isEverything: Bool

  /// The context's own changes; empty after the sets are made.
  private var records: [PendingRecord]
  /// The changes by other writers, refreshes and rollbacks; after ``makeSets()``, the context's own changes too.
  private var collected: Sets
  /// The records deleted without objects, of which the set has no object yet.
  private var bareDeletes: [PendingRecord] = []
  private let storage: ContextStorage

  /// - Parameters:
  ///   - records: The context's own changes.
  ///   - collected: All other changes: by other writers, refreshes and rollbacks.
  init(_ records: [PendingRecord], _ collected: Sets, isEverything: Bool, in storage: ContextStorage) {
    self.storage = storage
    self.records = records
    self.collected = collected
    self.isEverything = isEverything
    // Two saves of another writer may insert and change a record. Most notifications have one kind of change, for which
    // the set is not copied.
    if !collected.inserted.isEmpty, !collected.refreshed.isEmpty {
      self.collected.refreshed.subtract(collected.inserted)
    }
  }

  /// The changes by identifier, for observers on other threads.
  var changes: ObjectChanges {
    let sets = sets
    func ids(_ objects: Set<ManagedObject>) -> Set<ManagedObjectID> {
      // An observer may look up a temporary identifier after the save of the record.
      for object in objects where object.recordID.isTemporaryID { object.exposeTemporaryID() }
      return Set(objects.map { sets.formerIDs[ObjectIdentifier($0)] ?? $0.recordID })
    }
    return ObjectChanges(
      inserted: ids(sets.inserted), updated: ids(sets.updated), refreshed: ids(sets.refreshed),
      deleted: ids(sets.deleted).union(bareDeletes.lazy.map(\.id)), isEverything: isEverything)
  }

  /// Makes the object of a record deleted without an object. After the record's save or rollback, the object belongs to
  /// no context.
  private func object(of record: PendingRecord) -> ManagedObject {
    if let object = record.object { return object }
    if record.isBareDelete, let context = storage.context { return context.makeFault(record.id, entity: record.entity) }
    let birth = ObjectBirth(entity: record.entity, id: record.id, storage: storage)
    let object = record.entity.objectClass.init(birth)
    object.flags.formUnion([.detached, .deleted])
    return object
  }

  private var sets: Sets {
    makeSets()
    return collected
  }

  /// Makes the sets. To be called before the records change or release their objects.
  func makeSets() {
    guard !records.isEmpty else { return }
    if records.allSatisfy({ $0.kind == .inserted }) { collected.inserted.reserveCapacity(records.count) }
    for record in records {
      guard let object = record.object else {
        if record.kind == .deleted, record.base != nil { bareDeletes.append(record) }
        continue
      }
      switch record.kind {
      case .inserted:
        collected.inserted.insert(object)
        // An undo of the delete has inserted the object again.
        if !collected.deleted.isEmpty { collected.deleted.remove(object) }
      case .updated: collected.updated.insert(object)
      case .deleted: collected.deleted.insert(object)
      }
    }
    collected.updated.subtract(collected.inserted)
    collected.refreshed.subtract(collected.inserted)
    records = []
  }
}
