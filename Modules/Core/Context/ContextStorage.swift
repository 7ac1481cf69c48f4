import Synchronization

/// What a context's objects need of it, kept apart so that an object that outlives its context does no harm.
final class ContextStorage: @unchecked Sendable {
  // Sendable: `records` and the records in it are changed by the context's owner under `pendingLock` and read by others
  // under it; everything else mutable is used by the owner alone, which `confinement` checks.

  let confinement: Confinement
  let registry = ObjectRegistry()
  weak var context: ManagedObjectContext?

  /// Guards what child contexts read from their own threads.
  private let pendingLock = Mutex(())
  /// What is to be saved, by record.
  private(set) var records: [ManagedObjectID: PendingRecord] = [:]
  /// Changed records that no notification told of yet.
  var unannounced: [PendingRecord] = []
  /// Raised for a to-many relationship when loaded lists of its members may be out of date.
  var generations: [RelationshipDescription: Int] = [:]
  private var epoch = 0
  /// Permanent identifiers by temporary ones that were handed out.
  var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
  /// Deleted objects whose delete rules were not applied yet.
  var undelivered: [ManagedObject] = []
  /// Loads of a fetched batch: a fault of it loads the others too.
  var batches: [ManagedObjectID: FaultBatch] = [:]
  /// What accessors could not do; a save refuses until it is cleared.
  var reported: [(objectID: ManagedObjectID, error: any Error)] = []

  init(confinement: Confinement) { self.confinement = confinement }

  @inline(__always) func withPending<T>(_ body: () throws -> T) rethrows -> T {
    pendingLock._unsafeLock()
    defer { pendingLock._unsafeUnlock() }
    return try body()
  }

  /// Takes a record into what is to be saved.
  func adopt(_ record: PendingRecord) {
    withPending { records[record.id] = record }
    announce(record)
  }

  func announce(_ record: PendingRecord) {
    guard !record.isAnnounced else { return }
    record.isAnnounced = true
    unannounced.append(record)
  }

  /// Drops a record from what is to be saved.
  func forget(_ record: PendingRecord) {
    withPending { if records[record.id] === record { records[record.id] = nil } }
    record.object?.pending = nil
    record.object = nil
  }

  /// Drops everything that is to be saved, and what refers to it.
  func forgetAll() {
    let dropped = records
    withPending { records = [:] }
    for record in dropped.values {
      record.object?.pending = nil
      record.object = nil
    }
    unannounced = []
    undelivered = []
  }

  /// Enters a record by another identifier.
  func rename(_ record: PendingRecord, to id: ManagedObjectID) {
    withPending {
      records[record.id] = nil
      record.id = id
      records[id] = record
    }
  }

  func generation(of relationship: RelationshipDescription) -> Int { (generations[relationship] ?? 0) &+ epoch }

  /// Makes every loaded list of members out of date.
  func outdateAllLists() { epoch &+= 1 << 32 }

  func outdateLists(of relationship: RelationshipDescription) { generations[relationship, default: 0] += 1 }
}

/// Faults that were made by one fetch.
final class FaultBatch {
  var ids: [ManagedObjectID]
  init(ids: [ManagedObjectID]) { self.ids = ids }
}
