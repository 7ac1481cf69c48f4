/// A hash table from identifiers to words, with a ``KeyTable`` for each space. The owner gives the words their meaning,
/// such as the address of an object.
///
/// Invariants, see ``checkInvariants()``: each space has at most one entry, and the table frees the memory of its key
/// tables at `removeAll` and at its end. A pointer to the key table of a space is valid until then, because each key
/// table has memory of its own, which does not move when another space gets an entry.
struct IDTable: ~Copyable {
  /// The key table of one space.
  private struct Entry {
    let space: UnsafeMutableRawPointer
    let keys: UnsafeMutablePointer<KeyTable>
  }
  // A table has few spaces, and lookups mostly ask for the same one: a scan from the front finds it at once.
  private var entries: [Entry] = []

  deinit { Self.release(entries) }

  private static func release(_ entries: [Entry]) {
    for entry in entries {
      entry.keys.deinitialize(count: 1)
      entry.keys.deallocate()
    }
  }

  /// The table of an identifier's space, if it has one. Valid until the next `removeAll`.
  @inline(__always) func keys(inSpaceOf id: ManagedObjectID) -> UnsafeMutablePointer<KeyTable>? {
    let space = id.unmanagedSpace.toOpaque()
    for entry in entries where entry.space == space { return entry.keys }
    return nil
  }

  /// The table of an identifier's space, made on the first call. Valid until the next `removeAll`.
  @inline(__always) mutating func makeKeys(inSpaceOf id: ManagedObjectID) -> UnsafeMutablePointer<KeyTable> {
    keys(inSpaceOf: id) ?? addKeys(inSpaceOf: id)
  }

  private mutating func addKeys(inSpaceOf id: ManagedObjectID) -> UnsafeMutablePointer<KeyTable> {
    let keys = UnsafeMutablePointer<KeyTable>.allocate(capacity: 1)
    keys.initialize(to: KeyTable())
    entries.append(Entry(space: id.unmanagedSpace.toOpaque(), keys: keys))
    return keys
  }

  /// The word of an identifier; zero for an unknown identifier.
  @inline(__always) subscript(id: ManagedObjectID) -> UInt { keys(inSpaceOf: id)?.pointee[id.key] ?? 0 }

  @inline(__always) mutating func set(_ word: UInt, for id: ManagedObjectID) {
    makeKeys(inSpaceOf: id).pointee.set(word, for: id.key)
  }

  /// Reserves memory for a number of further identifiers of one space.
  mutating func reserve(_ more: Int, inSpaceOf id: ManagedObjectID) { makeKeys(inSpaceOf: id).pointee.reserve(more) }

  /// Removes an identifier if its word equals the given word.
  @inline(__always) mutating func remove(_ id: ManagedObjectID, ifWord word: UInt) {
    keys(inSpaceOf: id)?.pointee.remove(id.key, ifWord: word)
  }

  mutating func removeAll() {
    Self.release(entries)
    entries = []
  }

  /// Visits every word.
  func forEach(_ body: (UInt) -> Void) { for entry in entries { entry.keys.pointee.forEach(body) } }

  /// The number of identifiers.
  var count: Int { entries.reduce(0) { $0 + $1.keys.pointee.count } }

  /// Ends a debug build if an invariant of the table does not hold. Takes time proportional to the capacity.
  func checkInvariants() {
    // A copy, because the closure of `assert` cannot capture a table.
    let spaces = entries.map(\.space)
    assert(Set(spaces).count == spaces.count, "Each space has at most one entry in an identifier table.")
    for entry in entries { entry.keys.pointee.checkInvariants() }
  }
}
