import Synchronization

/// What a context's objects need of it, kept apart so that an object that outlives its context does no harm.
final class ContextStorage: @unchecked Sendable {
  // Sendable: `records` and the records in it are changed by the context's owner under `pendingLock` and read by others
  // under it; everything else mutable is used by the owner alone, which `confinement` checks.

  let confinement: Confinement
  let registry = ObjectRegistry()
  /// The context, while it lives.
  private(set) var handle: ContextHandle?
  var context: ManagedObjectContext? { handle?.context }

  /// Guards what child contexts read from their own threads.
  private let pendingLock = Mutex(())
  /// What is to be saved, by record.
  @exclusivity(unchecked) private(set) var records: [ManagedObjectID: PendingRecord] = [:]
  /// The same in the order in which they came, with gaps of records that are not current any more.
  @exclusivity(unchecked) private var sequence: [PendingRecord] = []
  /// Changed records that no notification told of yet.
  @exclusivity(unchecked) var unannounced: [PendingRecord] = []
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

  /// Called once, before anybody else knows the storage.
  func connect(to handle: ContextHandle) { self.handle = handle }

  @inline(__always) func withPending<T>(_ body: () throws -> T) rethrows -> T {
    pendingLock._unsafeLock()
    defer { pendingLock._unsafeUnlock() }
    return try body()
  }

  /// Takes a record into what is to be saved.
  func adopt(_ record: PendingRecord) {
    withPending { records[record.id] = record }
    record.isCurrent = true
    sequence.append(record)
    announce(record)
  }

  /// What is to be saved, in the order in which it came.
  var orderedRecords: [PendingRecord] { sequence.filter(\.isCurrent) }

  func announce(_ record: PendingRecord) {
    guard !record.isAnnounced else { return }
    record.isAnnounced = true
    unannounced.append(record)
  }

  /// Drops a record from what is to be saved.
  func forget(_ record: PendingRecord) {
    withPending { if records[record.id] === record { records[record.id] = nil } }
    release(record)
    if sequence.count > 64, sequence.count > records.count * 4 { sequence = orderedRecords }
  }

  /// Drops records that were saved, all at once when nothing else is to be saved.
  func forget(_ saved: [PendingRecord]) {
    withPending {
      if saved.count == records.count {
        records = [:]
      } else {
        for record in saved { records[record.id] = nil }
      }
    }
    for record in saved { release(record) }
    sequence = records.isEmpty ? [] : orderedRecords
  }

  private func release(_ record: PendingRecord) {
    record.isCurrent = false
    record.object?.pending = nil
    record.object = nil
  }

  /// Drops everything that is to be saved, and what refers to it.
  func forgetAll() {
    let dropped = records
    withPending { records = [:] }
    for record in dropped.values { release(record) }
    sequence = []
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
