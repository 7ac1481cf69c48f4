/// A hash table from keys to words, for lookups that bulk work makes for every row: objects, rows, and unsaved changes.
/// Open addressing with linear probing and backward-shift deletion. Fibonacci hashing spreads the keys in groups of
/// eight consecutive keys, which share cache lines: records fetched together often have consecutive keys.
///
/// The owner gives the words their meaning, such as an address or an index. A word of zero means "no entry" and cannot
/// be stored. An empty table has no memory of its own.
///
/// Invariants, see ``checkInvariants()``:
/// - The capacity, which is `mask + 1`, is a power of two, and at most two thirds of the entries are occupied. A search
///   therefore ends at a free entry.
/// - All entries from the home of a key to the entry of the key are occupied, and no two entries have the same key. A
///   search therefore finds every key.
/// - A table without memory of its own is empty and has the smallest capacity.
struct KeyTable: ~Copyable {
  private struct Entry {
    var key: Int64
    var word: UInt
  }

  private static let smallestCapacity = 16
  // Free entries, which all tables without memory of their own share. The memory is never written: such a table
  // allocates before it sets an entry.
  nonisolated(unsafe) private static let sharedFreeEntries = allocate(smallestCapacity)

  private var entries = KeyTable.sharedFreeEntries
  /// 64 less the binary logarithm of the capacity: a hash shifted by it is an index of an entry.
  private var shift: UInt64 = 60
  private var mask = KeyTable.smallestCapacity - 1
  private(set) var count = 0
  private var hasMemory = false

  deinit { if hasMemory { entries.deallocate() } }

  /// Removes all entries and frees the memory.
  mutating func removeAll() {
    if hasMemory { entries.deallocate() }
    (entries, shift, mask, count, hasMemory) = (Self.sharedFreeEntries, 60, Self.smallestCapacity - 1, 0, false)
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    entries.initialize(repeating: Entry(key: 0, word: 0), count: capacity)
    return entries
  }

  /// The entry at which the search for a key begins.
  @inline(__always) func home(_ key: Int64) -> Int {
    let key = UInt64(bitPattern: key)
    let group = ((key >> 3) &* 0x9E37_79B9_7F4A_7C15) >> (shift &+ 3)
    return Int(truncatingIfNeeded: group << 3 | key & 7)
  }

  /// The word of a key; zero for an unknown key.
  @inline(__always) subscript(key: Int64) -> UInt {
    var index = home(key)
    while entries[index].word != 0 {
      if entries[index].key == key { return entries[index].word }
      index = (index + 1) & mask
    }
    return 0
  }

  /// Sets the word of a key and replaces an earlier one.
  mutating func set(_ word: UInt, for key: Int64) {
    assert(word != 0, "A key table cannot store the word zero, which marks a free entry.")
    var index = home(key)
    while entries[index].word != 0 {
      if entries[index].key == key {
        entries[index].word = word
        return
      }
      index = (index + 1) & mask
    }
    guard hasMemory else {
      entries = Self.allocate(Self.smallestCapacity)
      hasMemory = true
      return set(word, for: key)
    }
    entries[index] = Entry(key: key, word: word)
    count += 1
    if count * 3 > mask * 2 { grow() }
  }

  /// Replaces the word of a key with the result of a block. A word of zero stands for "no entry". The table must have
  /// room, see `reserve`.
  @inline(__always) mutating func update(_ key: Int64, _ body: (UInt) -> UInt) {
    var index = home(key)
    while entries[index].word != 0 {
      if entries[index].key == key {
        entries[index].word = body(entries[index].word)
        assert(entries[index].word != 0, "An update cannot remove a key.")
        return
      }
      index = (index + 1) & mask
    }
    assert(hasMemory && (count + 1) * 3 <= mask * 2, "An update needs room, which `reserve` makes.")
    entries[index] = Entry(key: key, word: body(0))
    assert(entries[index].word != 0, "A key table cannot store the word zero, which marks a free entry.")
    count += 1
  }

  /// Removes a key if its word equals the given word.
  mutating func remove(_ key: Int64, ifWord word: UInt) {
    var index = home(key)
    while entries[index].word != 0 {
      if entries[index].key == key {
        if entries[index].word == word { vacate(index) }
        return
      }
      index = (index + 1) & mask
    }
  }

  /// Frees an entry, and moves later entries back into it, so that a search for their keys does not end at it.
  private mutating func vacate(_ start: Int) {
    var hole = start
    var index = (start + 1) & mask
    while entries[index].word != 0 {
      let distance = (index - home(entries[index].key)) & mask
      if distance >= (index - hole) & mask {
        entries[hole] = entries[index]
        hole = index
      }
      index = (index + 1) & mask
    }
    entries[hole].word = 0
    count -= 1
    // A table of the smallest capacity keeps its memory, because a table with one record at a time would allocate and
    // free it for each record.
    if count == 0, mask >= Self.smallestCapacity { removeAll() }
  }

  /// Reserves room for a number of further keys.
  mutating func reserve(_ more: Int) {
    var doublings = 0
    while (count + more) * 3 > ((mask + 1) << doublings - 1) * 2 { doublings += 1 }
    if doublings > 0 || !hasMemory { grow(doublings) }
  }

  private mutating func grow(_ doublings: Int = 1) {
    let old = entries
    let hadMemory = hasMemory
    let capacity = mask + 1
    entries = Self.allocate(capacity << doublings)
    hasMemory = true
    mask = capacity << doublings - 1
    shift -= UInt64(doublings)
    for index in 0..<capacity where old[index].word != 0 {
      var slot = home(old[index].key)
      while entries[slot].word != 0 { slot = (slot + 1) & mask }
      entries[slot] = old[index]
    }
    if hadMemory { old.deallocate() }
    // As rare as growing, so that the time of the check in debug builds stays proportional to the insertions.
    checkInvariants()
  }

  /// Visits every word.
  func forEach(_ body: (UInt) -> Void) {
    for index in 0...mask where entries[index].word != 0 { body(entries[index].word) }
  }
}

extension KeyTable {
  /// The number of entries, free ones included.
  var capacity: Int { mask + 1 }

  /// Ends a debug build if an invariant of the table does not hold. Takes time proportional to the capacity, and none
  /// in a release build.
  func checkInvariants() {
    #if DEBUG
      // Copies, because the closures of `assert` cannot capture a table.
      let (capacity, mask, shift, count, hasMemory) = (capacity, mask, shift, count, hasMemory)
      let isPowerOfTwo = capacity >= Self.smallestCapacity && capacity & mask == 0
      assert(isPowerOfTwo, "The capacity of a key table is a power of two.")
      assert(shift == UInt64(64 - capacity.trailingZeroBitCount), "The homes of keys spread over the capacity.")
      assert(count * 3 <= mask * 2, "At most two thirds of a key table's entries are occupied.")
      assert(
        hasMemory || count == 0 && capacity == Self.smallestCapacity, "A key table without memory of its own is empty.")
      var occupiedCount = 0
      for index in 0...mask where entries[index].word != 0 {
        occupiedCount += 1
        let isFound = isReachable(index)
        assert(isFound, "A search in a key table finds every occupied entry.")
      }
      assert(occupiedCount == count, "A key table counts its occupied entries.")
    #endif
  }

  /// Whether a search for the key of an occupied entry finds the entry.
  private func isReachable(_ index: Int) -> Bool {
    var found = home(entries[index].key)
    while entries[found].word != 0, entries[found].key != entries[index].key { found = (found + 1) & mask }
    return found == index
  }
}
