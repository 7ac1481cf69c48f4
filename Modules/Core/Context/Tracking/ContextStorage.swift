import Synchronization

/// The state of a context that its objects use. Separate from the context, so that an object may outlive its context.
final class ContextStorage: @unchecked Sendable {
  // Sendable: the unsaved records are changed by the context's owner under `pendingLock` and read by others under it;
  // everything else mutable is used by the owner alone, which `confinement` checks.
  // Safety of `@exclusivity(unchecked)`: one thread at a time is the owner, and its accesses follow each other.
  // Safety of `lockPending` and `unlockPending`: each pair stands in one function, on one thread.
  // Safety of `Unmanaged`: `sequence` keeps the records whose addresses `table` has.

  let confinement: Confinement
  let registry = ObjectRegistry()
  /// A weak reference to the context.
  private(set) var handle: ContextHandle?
  var context: ManagedObjectContext? { handle?.context }

  /// Guards the unsaved records, which child contexts read on their own threads.
  private let pendingLock = Lock()
  /// The unsaved records in the order in which they were tracked. Untracked records stay until the next compaction.
  @exclusivity(unchecked) private var sequence: [PendingRecord] = []
  /// The unsaved records by identifier, for the first `indexedCount` of `sequence`, which retains them: their
  /// addresses.
  @exclusivity(unchecked) private var table = IDTable()
  /// The number of indexed records of `sequence`. Most records are saved before any lookup of them. While all records
  /// are in the table, only the owner changes the table, so that the owner may read it without the lock.
  private let indexedCount = Atomic<Int>(0)
  /// The number of unsaved records.
  @exclusivity(unchecked) private(set) var recordCount = 0
  /// Whether unsaved records may include deletes.
  @exclusivity(unchecked) private(set) var hasDeletes = false
  /// The records that lists of stores may have as members although they are no members for the context: deleted
  /// records, and records with unsaved references, to which other writers have given other owners since.
  @exclusivity(unchecked) var movedRecords: Set<ManagedObjectID> = []
  /// Whether unsaved records may include changes of ordered relationships.
  @exclusivity(unchecked) private(set) var changesLists = false
  /// The number of unsaved records of each hierarchy.
  @exclusivity(unchecked) private var counts: [(root: EntityDescription, count: Int)] = []
  /// The index of unsaved records by value, made by the first fetch that needs it.
  @exclusivity(unchecked) private var index: UnsavedIndex?
  /// The changed records that no notification has listed yet. Those with the present `round` are not added again.
  @exclusivity(unchecked) var unpostedChanges: [PendingRecord] = []
  /// Raised by each notification of changes, and at the beginning of each block whose changes are collected: a record
  /// with an older number is listed again.
  @exclusivity(unchecked) var round: UInt32 = 1
  /// Whether ``undo`` records changes. Beside `round`, because each write reads both.
  @exclusivity(unchecked) var recordsUndo = false
  /// The number of notifications of changes.
  @exclusivity(unchecked) private(set) var postCount: UInt32 = 0
  /// During the preparation of a save, the records tracked since the last call of ``takeNewRecords()``; `nil`
  /// otherwise.
  @exclusivity(unchecked) private var newRecords: [PendingRecord]?
  /// The changes that observers are being notified of, the innermost notification last.
  @exclusivity(unchecked) private var delivering: [ChangedObjects] = []
  /// Whether live results of the context or of its children follow the unsaved records.
  let tracksTouched = Atomic<Bool>(false)
  /// The records whose unsaved state changed, without ``unpostedChanges``. Empty unless ``tracksTouched`` is set.
  @exclusivity(unchecked) private var touched = TouchedRecords()
  /// The generation of each to-many relationship, raised when its loaded member lists may be out of date.
  var generations: [RelationshipDescription: Int] = [:]
  /// The part of the generation that all relationships share.
  var epoch = 0
  /// The present identifiers of records by former ones. Changed under the lock, because children read them on their own
  /// threads.
  var formerIDs = FormerIdentifiers()
  /// Whether the running work is planned again when its save loses a race, see
  /// ``ManagedObjectContext/planningAgain(afterRacesOver:startsExcluding:_:)``. Its saves resolve no collision of
  /// unique values.
  var isPlanningAgain = false
  /// The temporary identifiers of a parent's records that the user knows, and of which the context retains no object.
  /// An identifier leaves the set when the record gets its permanent identifier.
  var exposedTemporaryIDs: Set<ManagedObjectID> = []
  /// The deleted objects whose delete rules are not applied yet.
  var pendingDeletes = PendingDeletes()
  /// The number of deletes of objects so far, by which a loaded list of members knows the deletes since its last check.
  var deleteCount = 0
  /// The records deleted without an object whose delete rules are not applied yet.
  var pendingRecordDeletes: [PendingRecord] = []
  /// Whether a deleted record still has references and members that its delete rules change.
  var hasPendingDeleteRules: Bool { !pendingDeletes.isEmpty || !pendingRecordDeletes.isEmpty }
  /// Whether unsaved records may include deletes without an object.
  @exclusivity(unchecked) private(set) var hasBareDeletes = false
  /// The objects and member lists read over relationships in the unit of work.
  let retainedReads = RetainedReads()
  /// Whether the block that ends a ``MainTurn`` is in the main queue.
  var awaitsTurnEnd = false
  /// Whether faults are counted: a policy other than ``FaultPolicy/load`` was set.
  let countsFaults = Atomic<Bool>(false)
  /// The faults that accessors loaded one by one in a unit of work, and the unit's number.
  var faults: (unit: Int, counts: FaultCounts) = (0, FaultCounts())
  /// The number of the unit of work, for the counts of faults.
  @exclusivity(unchecked) var unit = 0
  /// The groups of records fetched together.
  var groups = FetchGroups()
  /// The history of undoable changes; `nil` for none.
  var undo: UndoHistory?
  /// The pinned snapshot that a running write of the context has ended, to be pinned again after the write.
  var suspendedPin: SnapshotPin?
  /// The scheduled check of the pinned snapshot; `nil` without one.
  var pinWatch: SnapshotWatch?
  /// Whether the closure of a merge policy runs as part of a save.
  var isCallingPolicy = false
  /// Whether a participant runs as part of a save.
  var isCallingParticipant = false
  /// The number of nested calls of hooks, which must not save.
  @exclusivity(unchecked) var runningHooks = 0
  /// The objects with loaded values that wait for `awakeFromFetch`.
  @exclusivity(unchecked) var loads = LoadedObjects()
  /// The failures of accessors.
  var reports = AccessorReports()
  /// The sequence number of the saves, by which a stream on another thread notices a save while it begins.
  let saveNumber = SaveNumber()
  /// The number of resets, by which live results notice that the context has dropped all objects.
  var resetCount = 0
  /// The records that other writers have deleted while this context had unsaved changes of them.
  var deletedWhileEdited: Set<ManagedObjectID> = []
  /// The records that a load did not find. The next processing of the inbox detaches their objects, or finds the
  /// records again.
  var missing: Set<ManagedObjectID> = []

  init(confinement: Confinement) { self.confinement = confinement }
  /// Sets the handle of the context. Called once, before the storage is shared.
  func connect(to handle: ContextHandle) { self.handle = handle }

  // Without a closure, for code that runs for every attribute.
  @inline(__always) func lockPending() { pendingLock.lock() }
  @inline(__always) func unlockPending() { pendingLock.unlock() }

  /// Runs a block under the lock of the unsaved records. Blocks must not be nested.
  @inline(__always) func withPending<T>(_ body: () throws -> T) rethrows -> T {
    lockPending()
    defer { unlockPending() }
    return try body()
  }

  /// Tracks a record as unsaved.
  func track(_ record: PendingRecord) {
    withPending {
      record.isTracked = true
      recordCount += 1
      count(record, 1)
      sequence.append(record)
      if record.hasMembers { noteListChange() }
      noteUnindexed(record)
    }
    newRecords?.append(record)
    noteChange(record)
  }

  /// Records that members of an ordered relationship may have changed. Called under the lock.
  func noteListChange() { changesLists = true }

  /// Runs a block and collects the records that become unsaved in it, for ``takeNewRecords()``.
  func collectingNewRecords<T>(_ body: () throws -> T) rethrows -> T {
    let outer = newRecords
    newRecords = []
    defer { newRecords = outer }
    return try body()
  }

  /// Removes and returns the records tracked since the last call.
  func takeNewRecords() -> [PendingRecord] {
    guard let result = newRecords, !result.isEmpty else { return [] }
    newRecords = []
    return result
  }

  /// The unsaved record of an identifier. For the context's owner, without the lock.
  @inline(__always) func record(for id: ManagedObjectID) -> PendingRecord? {
    if indexedCount.load(ordering: .acquiring) != sequence.count { withPending { indexAll() } }
    return entry(for: id)
  }

  /// The unsaved record of an identifier. Called under the lock.
  func recordUnderLock(for id: ManagedObjectID) -> PendingRecord? {
    indexAll()
    return entry(for: id)
  }

  /// Has the next look-up by value index a new or changed record under its present values. The index keeps the entries
  /// of the record's former values, which a look-up may find too. Called under the lock.
  func noteUnindexed(_ record: PendingRecord) {
    guard index != nil else { return }
    index?.note(record)
    if index?.isOvergrown(recordCount) == true { dropIndex() }
  }

  /// The unsaved records of a hierarchy with a wanted value in a slot. Of several slots, the slot with the fewest
  /// records decides, so that the caller checks the others. Called under the lock.
  func unsavedRecords(of root: EntityDescription, with wanted: [WantedValues]) -> [PendingRecord] {
    index = index ?? UnsavedIndex()
    let found = index!.records(of: root, with: wanted, among: recordCount, from: { records })
    return found.filter { $0.isTracked && !$0.isUnchanged }
  }

  /// Drops the index by value, which the next look-up makes again. Called under the lock.
  private func dropIndex() {
    guard index != nil else { return }
    index = nil
    for record in sequence { record.isIndexed = false }
  }

  /// Turns an unsaved record into a delete.
  ///
  /// - Parameter version: The version that the deleting child has read; 0 for a delete of the context itself.
  func markDeleted(_ record: PendingRecord, readByChild version: Int64 = 0) {
    withPending {
      record.kind = .deleted
      record.versionReadByChild = version
      hasDeletes = true
    }
  }

  /// Tracks the delete of a record without an object.
  func trackBareDelete(of row: Row) {
    let record = PendingRecord(deleting: row)
    track(record)
    withPending { hasDeletes = true }
    hasBareDeletes = true
    pendingRecordDeletes.append(record)
  }

  /// Turns a delete back into an unsaved change of the kind, `inserted` or `updated`.
  func unmarkDeleted(_ record: PendingRecord, as kind: PendingRecord.Kind) { withPending { record.kind = kind } }

  /// Adds a number to the count of the record's hierarchy. Called under the lock.
  @inline(__always) private func count(_ record: PendingRecord, _ change: Int) {
    let root = record.entity.root
    // A context changes few hierarchies, and mostly one hierarchy in a row.
    for index in counts.indices where counts[index].root === root {
      counts[index].count += change
      return
    }
    counts.append((root, change))
  }

  /// The roots of the hierarchies with unsaved records.
  var changedRoots: [EntityDescription] { withPending { counts.filter { $0.count > 0 }.map(\.root) } }

  /// Whether a hierarchy has unsaved records. Called under the lock.
  func hasUnsavedRecords(of root: EntityDescription) -> Bool { counts.contains { $0.root === root && $0.count > 0 } }

  /// Adds the records of `sequence` that the table does not have yet. Called under the lock.
  private func indexAll() {
    let start = indexedCount.load(ordering: .relaxed)
    guard start < sequence.count else { return }
    for record in sequence[start...] where record.isTracked { table.set(Self.word(record), for: record.id) }
    indexedCount.store(sequence.count, ordering: .releasing)
  }

  /// Ends a debug build unless the table has exactly the current records among the first `indexedCount`, each under its
  /// identifier.
  func checkInvariants() {
    withPending {
      let indexed = sequence.prefix(indexedCount.load(ordering: .relaxed)).filter(\.isTracked)
      let areFound = indexed.allSatisfy { table[$0.id] == Self.word($0) }
      table.checkInvariants()
      assert(areFound && table.count == indexed.count, "The table of unsaved records has each indexed record once.")
      assert(sequence.count(where: \.isTracked) == recordCount, "A context counts its unsaved records.")
    }
  }

  /// The record of an identifier in the table, if all records are in the table.
  @inline(__always) private func entry(for id: ManagedObjectID) -> PendingRecord? {
    guard let address = UnsafeRawPointer(bitPattern: table[id]) else { return nil }
    return Unmanaged<PendingRecord>.fromOpaque(address).takeUnretainedValue()
  }

  /// The address of a record, as the table has it.
  @inline(__always) private static func word(_ record: PendingRecord) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(record).toOpaque())
  }

  /// The unsaved records in the order in which they were tracked. For the context's owner, or under the lock.
  var records: [PendingRecord] {
    sequence.count == recordCount ? sequence : sequence.filter(\.isTracked)
  }

  /// Whether any record has changes to save. For the context's owner, or under the lock.
  var hasChanges: Bool { sequence.contains { $0.isTracked && !$0.isUnchanged } }

  /// Lists a changed record for the next notification of observers.
  func noteChange(_ record: PendingRecord) {
    guard record.round != round else { return }
    // If observers are being notified, this change comes from one of them. The sets of the running notifications are
    // made first, so that they show the earlier state.
    for objects in delivering { objects.makeSets() }
    record.wasListed = record.round != 0
    record.round = round
    unpostedChanges.append(record)
    if isTouchTracked { requestTurn() }
  }

  /// Whether live results of the context or of a child may receive touched records.
  @inline(__always) var isTouchTracked: Bool { tracksTouched.load(ordering: .relaxed) }

  /// Records that the unsaved state of a record changed without a change by the context's user.
  @inline(__always) func touch(_ id: ManagedObjectID) { if isTouchTracked { touched.add(id) } }

  /// Records that the state of every record may have changed.
  func touchEverything() { if isTouchTracked { touched.isEverything = true } }

  /// Removes and returns the touched records. Changes that no notification has listed yet are left for the next call.
  func takeTouched() -> TouchedRecords {
    guard !touched.isEmpty else { return touched }
    defer { touched = TouchedRecords() }
    return touched
  }

  /// Schedules a block that ends the turn of a main-queue context, after the first change made outside of `perform`.
  @inline(never) private func requestTurn() {
    guard confinement.isMain, !confinement.isEntered, !awaitsTurnEnd, unpostedChanges.count == 1 else { return }
    confinement.submit { [weak self] in self?.context?.insideAlone {} }
  }

  /// Removes and returns the records to list in a notification. Later changes belong to the next notification.
  func takeUnpostedChanges() -> [PendingRecord] {
    guard !unpostedChanges.isEmpty else { return [] }
    defer { unpostedChanges = [] }
    if isTouchTracked { for record in unpostedChanges { touched.add(record.id) } }
    round &+= 1
    postCount &+= 1
    return unpostedChanges.filter { !$0.isSilent }
  }

  /// Notifies observers of changed objects. An object that an observer retains still describes the time of the
  /// notification.
  func post(_ objects: consuming ChangedObjects, _ notify: (ChangedObjects) -> Void) {
    delivering.append(objects)
    let index = delivering.count - 1
    notify(delivering[index])
    if !isKnownUniquelyReferenced(&delivering[index]) { delivering[index].makeSets() }
    delivering.removeLast()
  }

  /// Stops tracking a record, and releases its object.
  func untrack(_ record: PendingRecord) {
    withPending {
      drop(record)
      if sequence.count > 64, sequence.count > recordCount * 4 { removeUntracked() }
    }
    release(record)
  }

  /// Marks a record as untracked, and removes it from the table. Called under the lock.
  func drop(_ record: PendingRecord) {
    guard record.isTracked else { return }
    touch(record.id)
    indexAll()
    record.isTracked = false
    record.isIndexed = false
    recordCount -= 1
    if !movedRecords.isEmpty { movedRecords.remove(record.id) }
    if recordCount == 0 { (hasDeletes, hasBareDeletes, movedRecords) = (false, false, []) }
    count(record, -1)
    table.remove(record.id, ifWord: Self.word(record))
  }

  /// Drops every record from the sequence and the table. Called under the lock.
  func dropAll() {
    if isTouchTracked { for record in sequence where record.isTracked { touched.add(record.id) } }
    dropIndex()
    (hasDeletes, hasBareDeletes, changesLists) = (false, false, false)
    movedRecords = []
    table.removeAll()
    recordCount = 0
    counts = []
    sequence = []
    indexedCount.store(0, ordering: .relaxed)
  }

  /// Removes untracked records from the sequence. Called under the lock.
  func removeUntracked() {
    // The count of indexed records below counts all remaining ones.
    indexAll()
    sequence.removeAll { !$0.isTracked }
    indexedCount.store(sequence.count, ordering: .relaxed)
  }

  /// Separates an untracked record and its object, which the record has retained.
  func release(_ record: PendingRecord) {
    record.isTracked = false
    record.object?.pending = nil
    record.object = nil
  }

  /// Gives a record another identifier, and moves its entry in the table.
  func rename(_ record: PendingRecord, to id: ManagedObjectID) {
    if isTouchTracked { touched.rename(record.id, to: id) }
    withPending {
      indexAll()
      table.remove(record.id, ifWord: Self.word(record))
      record.id = id
      record.base = record.base?.renamed(to: id)
      table.set(Self.word(record), for: id)
    }
  }
}
