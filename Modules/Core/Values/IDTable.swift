/// A hash table from identifiers to words: a ``KeyTable`` for each space.
///
/// Invariants, see ``checkInvariants()``: each space has at most one part, and the table frees the memory of its parts
/// at `removeAll` and at its end. A pointer to the keys of a space is valid until then, because the keys have memory of
/// their own, which does not move when another space gets a part.
struct IDTable: ~Copyable {
  private struct Part {
    let space: UnsafeMutableRawPointer
    let keys: UnsafeMutablePointer<KeyTable>
  }
  // A table has few spaces, and lookups mostly ask for the same one: a scan from the front finds it at once.
  private var parts: [Part] = []

  deinit { Self.release(parts) }

  private static func release(_ parts: [Part]) {
    for part in parts {
      part.keys.deinitialize(count: 1)
      part.keys.deallocate()
    }
  }

  /// The table of an identifier's space, if it has one. Valid until the next `removeAll`.
  @inline(__always) func keys(beside id: ManagedObjectID) -> UnsafeMutablePointer<KeyTable>? {
    let space = id.unmanagedSpace.toOpaque()
    for part in parts where part.space == space { return part.keys }
    return nil
  }

  /// The table of an identifier's space, made on the first call. Valid until the next `removeAll`.
  @inline(__always) mutating func makeKeys(beside id: ManagedObjectID) -> UnsafeMutablePointer<KeyTable> {
    keys(beside: id) ?? addKeys(beside: id)
  }

  private mutating func addKeys(beside id: ManagedObjectID) -> UnsafeMutablePointer<KeyTable> {
    let keys = UnsafeMutablePointer<KeyTable>.allocate(capacity: 1)
    keys.initialize(to: KeyTable())
    parts.append(Part(space: id.unmanagedSpace.toOpaque(), keys: keys))
    return keys
  }

  /// The word of an identifier; zero for an unknown identifier.
  @inline(__always) subscript(id: ManagedObjectID) -> UInt { keys(beside: id)?.pointee[id.key] ?? 0 }

  @inline(__always) mutating func set(_ word: UInt, for id: ManagedObjectID) {
    makeKeys(beside: id).pointee.set(word, for: id.key)
  }

  /// Reserves memory for a number of further identifiers of one space.
  mutating func reserve(_ more: Int, beside id: ManagedObjectID) { makeKeys(beside: id).pointee.reserve(more) }

  /// Removes an identifier if its word equals the given word.
  @inline(__always) mutating func remove(_ id: ManagedObjectID, ifWord word: UInt) {
    keys(beside: id)?.pointee.remove(id.key, ifWord: word)
  }

  mutating func removeAll() {
    Self.release(parts)
    parts = []
  }

  /// Visits every word.
  func forEach(_ body: (UInt) -> Void) { for part in parts { part.keys.pointee.forEach(body) } }

  /// The number of identifiers.
  var count: Int { parts.reduce(0) { $0 + $1.keys.pointee.count } }

  /// Ends a debug build if an invariant of the table does not hold. Takes time proportional to the capacity.
  func checkInvariants() {
    // A copy, because the closure of `assert` cannot capture a table.
    let spaces = parts.map(\.space)
    assert(Set(spaces).count == spaces.count, "Each space has at most one part in an identifier table.")
    for part in parts { part.keys.pointee.checkInvariants() }
  }
}
