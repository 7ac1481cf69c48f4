/// The readers that a context holds while its outermost `perform` runs: all that it reads in there is one state of each
/// store.
struct ReadLease {
  private struct Entry {
    let store: any PersistentStore
    let reader: any StoreReader
    /// The reader, if it can go on in a later state, and the number of its last state.
    let yielding: (any YieldingReader)?
    var stateNumber = 0
    let hold: StateHold
  }

  private var readers: [Entry] = []
  /// The number of operations, one inside the other, that need one state of each store.
  private var operations = 0
  /// While positive, the lease is part of a snapshot and outlasts what would end it.
  var pins = 0
  /// Rises when a state ends.
  private(set) var number = 0

  /// Whether a state is pinned: from the first read of a snapshot until a save or its end.
  var isPinned: Bool { pins > 0 && !readers.isEmpty }

  /// The reader for a store, made if there is none.
  mutating func reader(for store: any PersistentStore) throws -> any StoreReader {
    for (index, entry) in readers.enumerated() where entry.store === store {
      guard let yielding = entry.yielding else { return entry.reader }
      if operations > 0 { entry.hold.take() }
      if yielding.stateNumber != entry.stateNumber {
        readers[index].stateNumber = yielding.stateNumber
        number &+= 1
      }
      return entry.reader
    }
    let reader = try store.makeReader()
    let yielding = reader as? any YieldingReader
    let hold = StateHold()
    if operations > 0 { hold.take() }
    yielding?.hold = hold
    readers.append(Entry(store: store, reader: reader, yielding: yielding, hold: hold))
    return reader
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
      if lease.pins == 1 { forgetRows() }
      defer {
        lease.pins -= 1
        lease.endOperation()
        lease.end()
        if lease.pins == 0 { storage.kept.removeAll() }
      }
      return try body()
    }
  }

  /// Makes faults of unchanged objects, so that what is held already is read in the snapshot too, many with one read.
  private final func forgetRows() {
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
