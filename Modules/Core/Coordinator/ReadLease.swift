/// The readers of a context during a unit of work, at most one for each store. All reads with them see one state of
/// each store.
///
/// A reader is made at the first read of a store, and finished at the end of the unit or before a save. The context's
/// thread uses the lease.
struct ReadLease {
  private struct Entry {
    let store: any PersistentStore
    let reader: any StoreReader
    /// The reader, if the store can take its connection back between two reads and let it continue in a later state.
    let yielding: (any YieldingReader)?
    /// The number of the reader's state at its last read. A change shows that the reader continues in a later state.
    var stateNumber = 0
    /// Keeps the reader in its state during an operation.
    let hold: StateHold
    /// The number of the row caches' steps at the time when the reader was made.
    let cacheStep: Int
    var cachedRows = CachedRows.unasked
  }

  /// The rows of a store in the row cache of the coordinator. The cache is asked at the first load of a row.
  private enum CachedRows {
    case unasked
    case absent
    case present(CachedStore)
  }

  private var readers: [Entry] = []
  /// The readers whose connections the running save may use, one for each store.
  private var offers: [(store: any PersistentStore, reader: any YieldingReader)] = []
  /// The number of nested operations that need one state of each store.
  private var operations = 0
  /// Whether one of the running operations has failed.
  private var hasFailedOperation = false
  /// The number of nested ``ManagedObjectContext/withSnapshot(_:)`` calls, and one more for a pinned snapshot. While it
  /// is positive, only a save ends the readers.
  var pins = 0
  /// A number that rises when a state ends.
  private(set) var number = 0
  /// Whether a reader was made since ``noteNewReaderHandled()``. Its state may have saves that the context has not
  /// merged.
  private(set) var hasNewReader = false
  /// Whether the context's work excludes other writers from the stores. The context must not wait for writers then.
  var excludesWriters = false

  /// Whether the readers were finished since ``beginUnit()``. Unlike ``number``, it does not change when a store takes
  /// a reader's connection back.
  private(set) var hasEnded = false

  /// Whether the readers outlive the units of work until ``endLasting()``. A stream reads each batch in a unit of work
  /// of its own, all in one state.
  private var isLasting = false

  /// The snapshot that the context keeps across its units of work; `nil` for none.
  private(set) var pin: SnapshotPin?

  /// Whether a state is pinned: from the first read of a snapshot until a save or its end, and as long as the context
  /// keeps a snapshot.
  var isPinned: Bool { pins > 0 && (!readers.isEmpty || pin != nil) }

  /// The number of the parents' saves at the beginning of the unit of work, or at the last read that followed a save;
  /// `nil` without a parent.
  var seenSavesOfParents: Int?

  /// The count of the coordinator's saves; `nil` for an unknown coordinator. Set before the first reader is made.
  var saves: SaveCount?
  /// The value of ``saves`` when the first of the readers was made.
  private var earlierSaves: Int?
  /// Whether the readers may see a state before a finished save of the coordinator.
  var precedesSave: Bool {
    guard !readers.isEmpty else { return false }
    guard let saves, let earlierSaves else { return true }
    return saves.value != earlierSaves
  }

  /// The number of readers. For tests.
  var readerCount: Int { readers.count }

  /// Whether the lease has a reader of a store.
  func hasReader(of store: any PersistentStore) -> Bool { readers.contains { $0.store === store } }

  /// The reader for a store, made on the first call.
  mutating func reader(for store: any PersistentStore) throws -> any StoreReader {
    let index = try index(for: store)
    return readers[index].reader
  }

  /// The reader for a store, made on the first call, and the store's part of a row cache; `nil` when the cache has no
  /// rows of the store.
  mutating func reader(
    for store: any PersistentStore, with cache: RowCache
  ) throws -> (reader: any StoreReader, cachedRows: LeasedRows?) {
    let index = try index(for: store)
    let reader = readers[index].reader
    if case .unasked = readers[index].cachedRows {
      if let cached = cache.cachedStore(for: store) {
        readers[index].cachedRows = .present(cached)
      } else {
        readers[index].cachedRows = .absent
      }
    }
    guard case .present(let cached) = readers[index].cachedRows else { return (reader, nil) }
    return (reader, LeasedRows(cache: cache, cached: cached, reader: reader, readerStep: readers[index].cacheStep))
  }

  /// The index of the reader for a store, made on the first call.
  private mutating func index(for store: any PersistentStore) throws -> Int {
    if pin != nil { try notePinnedRead(of: store) }
    for index in readers.indices where readers[index].store === store {
      guard let yielding = readers[index].yielding else { return index }
      if operations > 0 { readers[index].hold.take() }
      if yielding.stateNumber != readers[index].stateNumber {
        readers[index].stateNumber = yielding.stateNumber
        number &+= 1
      }
      return index
    }
    // A unit of work uses one connection to a store at a time: the offered connection returns to the store, which gives
    // it to the new reader.
    if !offers.isEmpty, let offerIndex = offers.firstIndex(where: { $0.store === store }) {
      offers.remove(at: offerIndex).reader.finish()
    }
    let cacheStep = RowCache.stepCount
    // Read before the reader is made: a save between the two counts as unseen.
    let saveCount = saves?.value
    let reader = try store.makeReader()
    if readers.isEmpty { earlierSaves = saveCount }
    let yielding = reader as? any YieldingReader
    let hold = StateHold(isLasting: isLasting)
    if operations > 0 { hold.take() }
    yielding?.hold = hold
    hasNewReader = true
    readers.append(Entry(store: store, reader: reader, yielding: yielding, hold: hold, cacheStep: cacheStep))
    return readers.count - 1
  }

  /// Begins an operation whose reads of a store must see one state, so that the store must not take its connection
  /// back.
  mutating func beginOperation() { operations += 1 }

  /// Notes that a running operation has failed, before ``endOperation()``.
  mutating func noteFailedOperation() { hasFailedOperation = true }

  mutating func endOperation() {
    operations -= 1
    guard operations == 0 else { return }
    if hasFailedOperation { finishLostReaders() }
    for entry in readers where entry.yielding != nil { entry.hold.release() }
  }

  /// Finishes the readers that have lost their states, so that later reads of the unit of work begin other states. The
  /// later reads may belong to other tasks than a cancelled read. A snapshot has no other state.
  private mutating func finishLostReaders() {
    hasFailedOperation = false
    guard pins == 0, !isLasting else { return }
    let count = readers.count
    readers.removeAll { entry in
      guard (entry.reader as? any StateLosingReader)?.hasLostState == true else { return false }
      entry.reader.finish()
      return true
    }
    if readers.count < count { number &+= 1 }
  }

  /// Finishes the readers, unless they are pinned.
  mutating func end() {
    if pins == 0, !isLasting { endForSave() }
  }

  /// Has the readers outlive the units of work.
  mutating func beginLasting() { isLasting = true }

  /// Finishes the readers of a lasting lease.
  mutating func endLasting() {
    isLasting = false
    endForSave()
  }

  /// Finishes the readers of a lasting lease. The next read begins another state.
  mutating func restartLasting() { endForSave() }

  /// Notes that the context has compared its objects with the saves before the states of the readers.
  mutating func noteNewReaderHandled() { hasNewReader = false }

  /// Begins a unit of work: resets ``hasEnded``.
  mutating func beginUnit() { hasEnded = false }

  /// Finishes the readers, also pinned and lasting ones: no reader outlives a save.
  mutating func endForSave() {
    pin?.fail(.endedByWrite)
    finishReaders()
  }

  private mutating func finishReaders() {
    hasEnded = true
    guard !readers.isEmpty else { return }
    number &+= 1
    for entry in readers { entry.reader.finish() }
    readers.removeAll()
  }

  /// Ends the state of each store, pinned or not, and offers the connections to the save that the caller begins.
  /// The caller calls ``endOffers()`` after the save, also when the save fails.
  mutating func offerForSave() {
    hasEnded = true
    guard !readers.isEmpty else { return }
    number &+= 1
    for entry in readers {
      entry.hold.release()
      if let yielding = entry.yielding, yielding.offerToSave() {
        offers.append((entry.store, yielding))
      } else {
        entry.reader.finish()
      }
    }
    readers.removeAll()
  }

  // MARK: Pinned snapshots

  /// Has the readers made from now on stay in their state until ``endPin()``.
  mutating func beginPin(_ pin: SnapshotPin) {
    self.pin = pin
    pins += 1
    isLasting = true
  }

  /// Fixes a store's reader to the present state of the store, with one read.
  mutating func fixReader(for store: any PersistentStore) throws {
    let reader = try reader(for: store)
    // No record has the key, and a store without entities has no state to fix.
    if let entity = store.environment.entities.first { _ = try reader.row(0, of: entity.root) }
  }

  /// Finishes the readers of the pinned snapshot. The next read begins another state, also inside of a block with a
  /// snapshot of its own.
  @discardableResult
  mutating func endPin() -> SnapshotPin? {
    guard let ended = pin else { return nil }
    pin = nil
    pins -= 1
    isLasting = false
    finishReaders()
    return ended
  }

  /// Finishes the readers of the pinned snapshot. Later reads throw the reason until ``endPin()``.
  mutating func failPin(_ reason: SnapshotPin.Failure) {
    guard pin != nil else { return }
    pin?.fail(reason)
    finishReaders()
  }

  /// Finishes the reader of a store that is being detached, if a pinned snapshot has one.
  mutating func forgetPinned(_ store: any PersistentStore) {
    guard pin != nil, let index = readers.firstIndex(where: { $0.store === store }) else { return }
    pin?.detached.insert(store.identifier)
    readers.remove(at: index).reader.finish()
    number &+= 1
  }

  /// Whether a read of the pinned snapshot runs, or a block with a snapshot inside of it.
  var isPinInUse: Bool { operations > 0 || pins > 1 }

  /// Records the time of a read of the pinned snapshot.
  ///
  /// - Throws: The reason why the snapshot cannot be read, or has no state of the store.
  private mutating func notePinnedRead(of store: any PersistentStore) throws {
    pin?.lastRead = .now
    if let failure = pin?.failure { throw failure.error }
    if readers.contains(where: { $0.store === store }) { return }
    let identifier = store.identifier
    guard pin?.detached.contains(identifier) != true, !readers.contains(where: { $0.store.identifier == identifier })
    else { throw SnapshotPin.attachedAgain }
    try SnapshotPin.checkCapabilities(of: store)
  }

  /// Finishes the readers whose connections the save did not use.
  mutating func endOffers() {
    guard !offers.isEmpty else { return }
    for offer in offers { offer.reader.finish() }
    offers.removeAll()
  }
}
