/// The readers that a context holds while its outermost `perform` runs: all that it reads in there is one state of each
/// store.
struct ReadLease {
  private var readers: [(store: any PersistentStore, reader: any StoreReader)] = []
  /// While positive, the lease is part of a snapshot and outlasts what would end it.
  var pins = 0

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
      defer {
        lease.pins -= 1
        lease.end()
      }
      return try body()
    }
  }

  /// The reader to use now.
  final func reader(for store: any PersistentStore) throws -> any StoreReader { try lease.reader(for: store) }
}
