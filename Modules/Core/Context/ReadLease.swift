/// The readers that a context holds while its outermost `perform` runs: all that it reads in there is one state of each
/// store.
struct ReadLease {
  private var readers: [(store: any PersistentStore, reader: any StoreReader)] = []
  /// While positive, the lease is part of a snapshot and outlasts what would end it.
  var pins = 0

  /// Whether a state is pinned: from the first read of a snapshot until a save or its end.
  var isPinned: Bool { pins > 0 && !readers.isEmpty }

  /// The reader for a store, made if there is none.
  mutating func reader(for store: any PersistentStore) throws -> any StoreReader {
    for entry in readers where entry.store === store { return entry.reader }
    let reader = try store.makeReader()
    readers.append((store, reader))
    return reader
  }

  /// Gives the readers back, unless they are pinned.
  mutating func end() {
    guard pins == 0, !readers.isEmpty else { return }
    for entry in readers { entry.reader.finish() }
    readers.removeAll()
  }

  /// Gives the readers back, pinned or not: they may not be held over a save.
  mutating func endForSave() {
    for entry in readers { entry.reader.finish() }
    readers.removeAll()
  }
}

extension ManagedObjectContext {
  /// Pins one state of every store for the reads of a block: fetches, faults and relationships all see the stores as
  /// they were at the first read of each. A save inside the block, also one that fails, ends the state; the next read begins another.
  public final func withSnapshot<T>(_ body: () throws -> T) rethrows -> T {
    try operating {
      lease.end()
      lease.pins += 1
      if lease.pins == 1 { forgetRows() }
      defer {
        lease.pins -= 1
        lease.end()
      }
      return try body()
    }
  }

  /// Makes faults of unchanged objects, so that what is held already is read in the snapshot too, many with one read.
  private final func forgetRows() {
    let objects = storage.registry.all.filter { $0.pending == nil && $0.row != nil }
    for object in objects {
      object.row = nil
      object.collections = nil
    }
    rememberBatch(of: objects)
  }

  /// The reader to use now.
  final func reader(for store: any PersistentStore) throws -> any StoreReader { try lease.reader(for: store) }
}
