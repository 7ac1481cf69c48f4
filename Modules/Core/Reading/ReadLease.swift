/// The readers that a context holds while its outermost `perform` runs: all its reads are of one state of each store.
struct ReadLease {
  private struct Entry {
    let store: any PersistentStore
    let reader: any StoreReader
    /// The reader, if it can go on in a later state, and the number of its last state.
    let yielding: (any YieldingReader)?
    var stateNumber = 0
    let hold: StateHold
    /// What the number of the row caches' steps was when the reader was made.
    let cacheStep: Int
    var kept = KeptRows.unasked
  }

  /// The rows that the coordinator keeps of a store.
  private enum KeptRows {
    case unasked
    case absent
    case present(CachedStore)
  }

  private var readers: [Entry] = []
  /// The readers whose connections the running save may use, one of each store.
  private var offers: [(store: any PersistentStore, reader: any YieldingReader)] = []
  /// The number of operations, one inside the other, that need one state of each store.
  private var operations = 0
  /// While positive, the lease is part of a snapshot and outlasts what would end it.
  var pins = 0
  /// Rises when a state ends.
  private(set) var number = 0
  /// Whether the context's work keeps other writers out of the stores, which then must not be waited for.
  var excludesWriters = false

  /// Whether a state is pinned: from the first read of a snapshot until a save or its end.
  var isPinned: Bool { pins > 0 && !readers.isEmpty }

  /// The reader for a store, made on the first call.
  mutating func reader(for store: any PersistentStore) throws -> any StoreReader {
    let index = try index(for: store)
    return readers[index].reader
  }

  /// The reader for a store, made on the first call, with the rows that a cache keeps of the store; `nil` for no rows.
  mutating func reader(
    for store: any PersistentStore, with cache: RowCache
  ) throws -> (reader: any StoreReader, kept: LeasedRows?) {
    let index = try index(for: store)
    let reader = readers[index].reader
    if case .unasked = readers[index].kept {
      if let cached = cache.part(for: store) {
        readers[index].kept = .present(cached)
      } else {
        readers[index].kept = .absent
      }
    }
    guard case .present(let cached) = readers[index].kept else { return (reader, nil) }
    return (reader, LeasedRows(cache: cache, cached: cached, reader: reader, readerStep: readers[index].cacheStep))
  }

  /// The index of the reader for a store, made on the first call.
  private mutating func index(for store: any PersistentStore) throws -> Int {
    for index in readers.indices where readers[index].store === store {
      guard let yielding = readers[index].yielding else { return index }
      if operations > 0 { readers[index].hold.take() }
      if yielding.stateNumber != readers[index].stateNumber {
        readers[index].stateNumber = yielding.stateNumber
        number &+= 1
      }
      return index
    }
    // A unit of work has one connection to a store: the reader gets the offered one.
    if !offers.isEmpty, let place = offers.firstIndex(where: { $0.store === store }) {
      offers.remove(at: place).reader.finish()
    }
    let cacheStep = RowCache.stepCount
    let reader = try store.makeReader()
    let yielding = reader as? any YieldingReader
    let hold = StateHold()
    if operations > 0 { hold.take() }
    yielding?.hold = hold
    readers.append(Entry(store: store, reader: reader, yielding: yielding, hold: hold, cacheStep: cacheStep))
    return readers.count - 1
  }

  /// Begins an operation whose reads of a store are of one state.
  mutating func beginOperation() { operations += 1 }

  mutating func endOperation() {
    operations -= 1
    guard operations == 0 else { return }
    for entry in readers where entry.yielding != nil { entry.hold.release() }
  }

  /// Gives the readers back, unless they are pinned.
  mutating func end() {
    if pins == 0 { endForSave() }
  }

  /// Gives the readers back, pinned or not: they may not be held over a save.
  mutating func endForSave() {
    guard !readers.isEmpty else { return }
    number &+= 1
    for entry in readers { entry.reader.finish() }
    readers.removeAll()
  }

  /// Ends the state of each store, pinned or not, and offers the connections to the save that the caller begins.
  /// ``endOffers()`` follows, also when the save fails.
  mutating func offerForSave() {
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

  /// Gives the connections back that the save did not use.
  mutating func endOffers() {
    guard !offers.isEmpty else { return }
    for offer in offers { offer.reader.finish() }
    offers.removeAll()
  }
}

extension ManagedObjectContext {
  /// Pins one state of every store for the reads of a block: fetches, faults and relationships all see the stores as
  /// they were at the first read of each. A save inside the block, also one that fails, ends the state; the next read
  /// begins another.
  ///
  /// Without it, what a `perform` reads is one state as long as the store has connections to spare; each fetch is one state
  /// always. Snapshots inside one another, of several contexts, have a connection each, also beyond the size of a pool.
  public final func withSnapshot<T>(_ body: () throws -> T) rethrows -> T {
    try operating {
      lease.end()
      lease.pins += 1
      lease.beginOperation()
      if lease.pins == 1 { forgetCleanRows() }
      defer {
        lease.pins -= 1
        lease.endOperation()
        lease.end()
        if lease.pins == 0 { storage.kept.removeAll() }
      }
      return try body()
    }
  }

  /// Makes faults of unchanged objects, so that objects in use are read in the snapshot too, many with one read.
  final func forgetCleanRows() {
    storage.kept.removeAll()
    let objects = storage.registry.all.filter { $0.pending == nil && $0.row != nil }
    for object in objects {
      object.row = nil
      object.collections = nil
    }
    group(objects)
  }

  /// Runs a block whose reads are of one state of each store.
  @inline(__always) final func inOneState<T>(_ body: () throws -> T) rethrows -> T {
    lease.beginOperation()
    defer { lease.endOperation() }
    return try body()
  }

  /// The reader to use now.
  final func reader(for store: any PersistentStore) throws -> any StoreReader { try lease.reader(for: store) }
}
