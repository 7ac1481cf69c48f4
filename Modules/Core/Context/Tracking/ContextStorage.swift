import Synchronization

/// The state of a context that its objects use. Separate from the context, so that an object may outlive its context.
///
/// The class itself keeps the unsaved records: their sequence, and the look-up by identifier and by value. Subjects with
/// several fields have types of their own.
final class ContextStorage: @unchecked Sendable {
  // Sendable: the unsaved records, their summary and the former identifiers are changed by the context's owner under
  // `pendingLock` and read by others under it; everything else mutable is used by the owner alone, which `confinement`
  // checks.
  // Safety of `@exclusivity(unchecked)`: one thread at a time is the owner, and its accesses follow each other. An access
  // of a field of a nested struct is an access of the whole struct: no function of these structs calls code that uses the
  // storage. Code that calls the user, posts, or takes the lock is a function of the class.
  // Safety of `lockPending` and `unlockPending`: each pair stands in one function, on one thread.
  // Safety of `Unmanaged`: `sequence` keeps the records whose addresses `table` has.

  let confinement: Confinement
  let registry = ObjectRegistry()
  /// A weak reference to the context.
  private(set) var handle: ContextHandle?
  var context: ManagedObjectContext? { handle?.context }

  // MARK: Unsaved records

  // No struct has `table` together with `sequence` or the summary: a child's thread changes `table` under the lock while
  // the owner reads the others without the lock.
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
  /// The counts of the unsaved records, and the kinds of their changes.
  @exclusivity(unchecked) var unsaved = UnsavedSummary()
  /// The index of unsaved records by value, made by the first fetch that needs it.
  @exclusivity(unchecked) private var index: UnsavedIndex?
  /// During the preparation of a save, the records tracked since the last call of ``takeNewRecords()``; `nil`
  /// otherwise.
  @exclusivity(unchecked) private var newRecords: [PendingRecord]?

  // MARK: Changes

  /// The changes for the next notification, and the running notifications.
  @exclusivity(unchecked) var notifications = ChangeNotifications()
  /// Whether ``undo`` records changes. Beside the round of ``notifications``, because each write reads both.
  @exclusivity(unchecked) var recordsUndo = false
  /// The history of undoable changes; `nil` for none.
  var undo: UndoHistory?
  /// Whether live results of the context or of its children follow the unsaved records.
  let tracksTouched = Atomic<Bool>(false)
  /// The records whose unsaved state changed, without the unposted changes. Empty unless ``tracksTouched`` is set.
  @exclusivity(unchecked) var touched = TouchedRecords()
  /// Whether the block that ends a ``MainTurn`` is in the main queue.
  var awaitsTurnEnd = false
  /// The deletes whose delete rules are not applied yet.
  var pendingRules = PendingDeleteRules()

  // MARK: Identifiers and records of other writers

  /// The present identifiers of records by former ones. Changed under the lock, because children read them on their own
  /// threads.
  var formerIDs = FormerIdentifiers()
  /// The temporary identifiers of a parent's records that the user knows, and of which the context retains no object.
  /// An identifier leaves the set when the record gets its permanent identifier.
  var exposedTemporaryIDs: Set<ManagedObjectID> = []
  /// The records that other writers have deleted.
  var vanished = VanishedRecords()

  // MARK: Reads

  /// The generations of loaded member lists.
  var listGenerations = ListGenerations()
  /// The objects and member lists read over relationships in the unit of work.
  let retainedReads = RetainedReads()
  /// The groups of records fetched together.
  var groups = FetchGroups()
  /// The objects with loaded values that wait for `awakeFromFetch`.
  @exclusivity(unchecked) var loads = LoadedObjects()
  /// The failures of accessors.
  var reports = AccessorReports()
  /// Whether faults are counted: a policy other than ``FaultPolicy/load`` was set.
  let countsFaults = Atomic<Bool>(false)
  /// The faults that accessors loaded one by one in a unit of work, and the unit's number.
  var faults: (unit: Int, counts: FaultCounts) = (0, FaultCounts())
  /// The number of the unit of work, for the counts of faults.
  @exclusivity(unchecked) var unit = 0
  /// The pinned snapshot during a write, and the check of its use.
  var pinning = PinningState()

  // MARK: Saves and resets

  /// The code that the context's own work calls at present.
  @exclusivity(unchecked) var callbacks = RunningCallbacks()
  /// The sequence number of the saves, by which a stream on another thread notices a save while it begins.
  let saveNumber = SaveNumber()
  /// The number of resets, by which live results notice that the context has dropped all objects.
  var resetCount = 0

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
      unsaved.add(record)
      sequence.append(record)
      if record.hasMembers { noteListChange() }
      noteUnindexed(record)
    }
    newRecords?.append(record)
    noteChange(record)
  }

  /// Records that members of an ordered relationship may have changed. Called under the lock.
  func noteListChange() { unsaved.noteListChange() }

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
    if index?.isOvergrown(unsaved.count) == true { dropIndex() }
  }

  /// The unsaved records of a hierarchy with a wanted value in a slot. Of several slots, the slot with the fewest
  /// records decides, so that the caller checks the others. Called under the lock.
  func unsavedRecords(of root: EntityDescription, with wanted: [WantedValues]) -> [PendingRecord] {
    index = index ?? UnsavedIndex()
    let found = index!.records(of: root, with: wanted, among: unsaved.count, from: { records })
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
      unsaved.noteDelete()
    }
  }

  /// Tracks the deletes of records without an object, in one step. Leaves out records with unsaved changes.
  ///
  /// - Returns: The number of tracked deletes.
  @discardableResult func trackBareDeletes(of rows: [Row]) -> Int {
    let start = sequence.count
    withPending {
      indexAll()
      if let id = rows.first?.id { table.reserve(rows.count, inSpaceOf: id) }
      for row in rows where table[row.id] == 0 {
        let record = PendingRecord(deleting: row)
        record.isTracked = true
        unsaved.add(record)
        sequence.append(record)
        table.set(Self.word(record), for: row.id)
        noteUnindexed(record)
      }
      indexedCount.store(sequence.count, ordering: .releasing)
      if sequence.count > start { unsaved.noteBareDelete() }
    }
    let tracked = sequence[start...]
    newRecords?.append(contentsOf: tracked)
    for record in tracked { noteChange(record) }
    pendingRules.records += tracked
    return tracked.count
  }

  /// Turns a delete back into an unsaved change of the kind, `inserted` or `updated`.
  func unmarkDeleted(_ record: PendingRecord, as kind: PendingRecord.Kind) { withPending { record.kind = kind } }

  /// The roots of the hierarchies with unsaved records.
  var changedRoots: [EntityDescription] { withPending { unsaved.roots } }

  /// Whether a hierarchy has unsaved records. Called under the lock.
  func hasUnsavedRecords(of root: EntityDescription) -> Bool { unsaved.hasRecords(of: root) }

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
      unsaved.checkInvariants(sequence.count(where: \.isTracked))
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
    sequence.count == unsaved.count ? sequence : sequence.filter(\.isTracked)
  }

  /// Whether any record has changes to save. For the context's owner, or under the lock.
  var hasChanges: Bool { sequence.contains { $0.isTracked && !$0.isUnchanged } }

  /// Stops tracking a record, and releases its object.
  func untrack(_ record: PendingRecord) {
    withPending {
      drop(record)
      if sequence.count > 64, sequence.count > unsaved.count * 4 { removeUntracked() }
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
    unsaved.remove(record)
    table.remove(record.id, ifWord: Self.word(record))
  }

  /// Drops every record from the sequence and the table. Called under the lock.
  func dropAll() {
    if isTouchTracked { for record in sequence where record.isTracked { touched.add(record.id) } }
    dropIndex()
    unsaved = UnsavedSummary()
    table.removeAll()
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
