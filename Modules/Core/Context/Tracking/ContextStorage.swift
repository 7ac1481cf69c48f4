import Synchronization

/// What a context's objects need of it, kept apart so that an object that outlives its context does no harm.
final class ContextStorage: @unchecked Sendable {
  // Sendable: the unsaved records are changed by the context's owner under `pendingLock` and read by others under it;
  // everything else mutable is used by the owner alone, which `confinement` checks.
  // Safety of `@exclusivity(unchecked)`: one thread at a time is the owner, and its accesses follow each other.
  // Safety of `_unsafeLock` and `_unsafeUnlock`: each pair stands in one function, on one thread.
  // Safety of `Unmanaged`: `sequence` keeps the records whose addresses `table` has.

  let confinement: Confinement
  let registry = ObjectRegistry()
  /// The context, while it lives.
  private(set) var handle: ContextHandle?
  var context: ManagedObjectContext? { handle?.context }

  /// Guards what child contexts read from their own threads.
  private let pendingLock = Mutex(())
  /// The unsaved records, in the order in which they came, with gaps where records are no longer current.
  @exclusivity(unchecked) private var sequence: [PendingRecord] = []
  /// The same by identifier, as far as `enteredCount` reaches: the addresses of records that `sequence` keeps.
  @exclusivity(unchecked) private var table = IDTable()
  /// How much of `sequence` is in the table. Most records are saved before any lookup of them. While it is all, only
  /// the owner changes the table, so that the owner may read it without the lock.
  private let enteredCount = Atomic<Int>(0)
  /// The number of unsaved records.
  @exclusivity(unchecked) private(set) var recordCount = 0
  /// Whether there may be deletes among them.
  @exclusivity(unchecked) private(set) var hasDeletes = false
  /// Whether there may be changes of ordered relationships among them.
  @exclusivity(unchecked) private(set) var changesLists = false
  /// How many of them each hierarchy has.
  @exclusivity(unchecked) private var kinds: [(root: EntityDescription, count: Int)] = []
  /// Made by the first fetch that looks for unsaved records by a value.
  @exclusivity(unchecked) private var index: UnsavedIndex?
  /// Changed records that no notification has named yet: their round is this round's number.
  @exclusivity(unchecked) var unannounced: [PendingRecord] = []
  @exclusivity(unchecked) private(set) var round: UInt32 = 1
  /// While a save prepares: the records that arrived since they were last taken; `nil` otherwise.
  @exclusivity(unchecked) private var newcomers: [PendingRecord]?
  /// The changes of the running notifications, the innermost last.
  @exclusivity(unchecked) private var told: [ChangedObjects] = []
  /// Raised for a to-many relationship when loaded lists of its members may be out of date.
  var generations: [RelationshipDescription: Int] = [:]
  private var epoch = 0
  /// Permanent identifiers by handed-out temporary identifiers.
  var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
  /// Deleted objects whose delete rules were not applied yet.
  var undelivered: [ManagedObject] = []
  /// The objects and lists read over relationships in the unit of work.
  let kept = KeptReads()
  /// Which records came together.
  var groups = FetchGroups()
  /// Whether the closure of a merge policy runs as part of a save.
  var isCallingPolicy = false
  /// What accessors could not do.
  var reports = AccessorReports()
  /// Records that a load did not find, to be looked for again when the context takes in what others saved.
  var missing: Set<ManagedObjectID> = []

  init(confinement: Confinement) { self.confinement = confinement }

  /// Called once, before anybody else knows the storage.
  func connect(to handle: ContextHandle) { self.handle = handle }

  @inline(__always) func lockPending() { pendingLock._unsafeLock() }
  @inline(__always) func unlockPending() { pendingLock._unsafeUnlock() }

  @inline(__always) func withPending<T>(_ body: () throws -> T) rethrows -> T {
    lockPending()
    defer { unlockPending() }
    return try body()
  }

  /// Adds a record to the unsaved records.
  func adopt(_ record: PendingRecord) {
    withPending {
      record.isCurrent = true
      recordCount += 1
      count(record, 1)
      sequence.append(record)
      if record.hasMembers { noteListChange() }
      noteUnindexed(record)
    }
    newcomers?.append(record)
    announce(record)
  }

  /// Notes that members of ordered relationships may be changed. Called under the lock.
  func noteListChange() { changesLists = true }

  /// Runs a block in which records that come to be saved are noted, for ``takeNewcomers()``.
  func notingNewcomers<T>(_ body: () throws -> T) rethrows -> T {
    let outer = newcomers
    newcomers = []
    defer { newcomers = outer }
    return try body()
  }

  /// The unsaved records that arrived since the last call.
  func takeNewcomers() -> [PendingRecord] {
    guard let result = newcomers, !result.isEmpty else { return [] }
    newcomers = []
    return result
  }

  /// Whether a block changes records, also when it announces the changes. Changes from before the block are still
  /// announced afterwards.
  func isChanged(by body: () throws -> Void) rethrows -> Bool {
    let known = unannounced
    unannounced = []
    round &+= 1
    let first = round
    // A record may be there twice, which the sets of changed objects do not mind.
    defer { unannounced = known + unannounced }
    try body()
    // Each announcement of changes begins another round.
    return round != first || unannounced.contains { !$0.isSilent }
  }

  /// The unsaved record of an identifier, for the owner.
  @inline(__always) func record(for id: ManagedObjectID) -> PendingRecord? {
    if enteredCount.load(ordering: .acquiring) != sequence.count { withPending { enterAll() } }
    return entry(for: id)
  }

  /// The unsaved record of an identifier. Called under the lock.
  func recordUnderLock(for id: ManagedObjectID) -> PendingRecord? {
    enterAll()
    return entry(for: id)
  }

  /// Notes that a record came, or was written. Called under the lock.
  func noteUnindexed(_ record: PendingRecord) {
    guard index != nil else { return }
    index?.note(record)
    if index?.isOvergrown(recordCount) == true { dropIndex() }
  }

  /// The unsaved records of a hierarchy with one of some values in a slot. Called under the lock.
  func unsavedRecords(
    of root: EntityDescription, at slot: Int, among values: [AttributeValue]
  ) -> [PendingRecord] {
    index = index ?? UnsavedIndex()
    let found = index!.records(of: root, at: slot, among: values, from: records)
    return found.filter { $0.isCurrent && !$0.isVoid }
  }

  private func dropIndex() {
    guard index != nil else { return }
    index = nil
    for record in sequence { record.isIndexed = false }
  }

  /// Makes a record one to delete.
  func markDeleted(_ record: PendingRecord) {
    withPending {
      record.kind = .deleted
      hasDeletes = true
    }
  }

  /// Leaves out the records to be deleted. Called under the lock.
  func withoutDeleted(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    hasDeletes ? ids.filter { recordUnderLock(for: $0)?.kind != .deleted } : ids
  }

  /// Counts a record in or out. Called under the lock.
  @inline(__always) private func count(_ record: PendingRecord, _ change: Int) {
    let root = record.entity.root
    // Few, and the same one again and again.
    for index in kinds.indices where kinds[index].root === root {
      kinds[index].count += change
      return
    }
    kinds.append((root, change))
  }

  /// The roots of the hierarchies with unsaved records.
  var changedRoots: [EntityDescription] { withPending { kinds.filter { $0.count > 0 }.map(\.root) } }

  /// Brings the table up to date. Called under the lock.
  private func enterAll() {
    let start = enteredCount.load(ordering: .relaxed)
    guard start < sequence.count else { return }
    for record in sequence[start...] where record.isCurrent { table.set(Self.word(record), for: record.id) }
    enteredCount.store(sequence.count, ordering: .releasing)
  }

  @inline(__always) private func entry(for id: ManagedObjectID) -> PendingRecord? {
    guard let address = UnsafeRawPointer(bitPattern: table[id]) else { return nil }
    return Unmanaged<PendingRecord>.fromOpaque(address).takeUnretainedValue()
  }

  @inline(__always) private static func word(_ record: PendingRecord) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(record).toOpaque())
  }

  /// The unsaved records, in the order in which they came.
  var records: [PendingRecord] {
    sequence.count == recordCount ? sequence : sequence.filter(\.isCurrent)
  }

  /// Whether any record has changes to save.
  var hasChanges: Bool { sequence.contains { $0.isCurrent && !$0.isVoid } }

  func announce(_ record: PendingRecord) {
    guard record.round != round else { return }
    // The change comes from an observer: the changes of its notification stay as they were.
    for objects in told { objects.makeSets() }
    record.round = round
    unannounced.append(record)
  }

  /// The records to name in a notification. Changes from now on belong to the next round.
  func takeUnannounced() -> [PendingRecord] {
    guard !unannounced.isEmpty else { return [] }
    defer { unannounced = [] }
    round &+= 1
    return unannounced.filter { !$0.isSilent }
  }

  /// Notifies observers of changed objects. Copies that observers keep stay as they are.
  func deliver(_ objects: consuming ChangedObjects, _ tell: (ChangedObjects) -> Void) {
    told.append(objects)
    let place = told.count - 1
    tell(told[place])
    if !isKnownUniquelyReferenced(&told[place]) { told[place].makeSets() }
    told.removeLast()
  }

  /// Drops a record from the unsaved records.
  func forget(_ record: PendingRecord) {
    withPending {
      drop(record)
      if sequence.count > 64, sequence.count > recordCount * 4 { keepCurrent() }
    }
    release(record)
  }

  /// Drops a record from the sequence and the table. Called under the lock.
  func drop(_ record: PendingRecord) {
    guard record.isCurrent else { return }
    enterAll()
    record.isCurrent = false
    record.isIndexed = false
    recordCount -= 1
    count(record, -1)
    table.remove(record.id, ifWord: Self.word(record))
  }

  /// Drops every record from the sequence and the table. Called under the lock.
  func dropAll() {
    dropIndex()
    hasDeletes = false
    changesLists = false
    table.removeAll()
    recordCount = 0
    kinds = []
    sequence = []
    enteredCount.store(0, ordering: .relaxed)
  }

  /// Closes the gaps in the sequence, all of which is in the table.
  func keepCurrent() {
    sequence.removeAll { !$0.isCurrent }
    enteredCount.store(sequence.count, ordering: .relaxed)
  }

  private func release(_ record: PendingRecord) {
    record.isCurrent = false
    record.object?.pending = nil
    record.object = nil
  }

  /// Drops all unsaved records, and everything that refers to them.
  func forgetAll() {
    let dropped = records
    withPending { dropAll() }
    for record in dropped { release(record) }
    unannounced = []
    undelivered = []
  }

  /// Enters a record by another identifier.
  func rename(_ record: PendingRecord, to id: ManagedObjectID) {
    withPending {
      enterAll()
      table.remove(record.id, ifWord: Self.word(record))
      record.id = id
      table.set(Self.word(record), for: id)
    }
  }

  func generation(of relationship: RelationshipDescription) -> Int { (generations[relationship] ?? 0) &+ epoch }

  /// Makes every loaded list of members out of date.
  func outdateAllLists() {
    epoch &+= 1 << 32
    kept.outdateLists()
  }

  func outdateLists(of relationship: RelationshipDescription) {
    generations[relationship, default: 0] += 1
    kept.outdateLists(of: relationship)
  }

  /// Takes out an object that leaves the context, so that no lookup finds it any more.
  func unregister(_ object: ManagedObject) {
    kept.forget(object)
    registry.remove(object, id: object.id)
  }
}
