package import CoherenceCore

/// Finds input records by key.
///
/// A hash table with open addressing. The table keeps no keys: a record whose hash matches is asked for its key again, so
/// that large input takes 16 to 32 bytes a record. Used by one thread.
///
/// Invariants, see ``checkInvariants()``:
/// - The number of buckets is a power of two, and at most half of them are occupied, because each input record occupies
///   at most one. A search therefore ends at a free bucket.
/// - All buckets from the home of a key to the bucket of its record are occupied, and no two buckets have records of
///   one key. Buckets become occupied and never free again, so that a search finds every key.
package final class InputIndex {
  // `buckets` and `scratch` are used for every stored row, so without the run-time check of overlapping access.
  // Safety of `@exclusivity(unchecked)`: one thread uses the index, and the input, which is called during an access of
  // `scratch`, does not know the index.
  /// Each bucket has the index of a record plus one in its upper half, and the upper half of the key's hash in its lower
  /// half; a free bucket is zero.
  @exclusivity(unchecked) private var buckets: [UInt64]
  /// The memory for the keys that the input writes.
  @exclusivity(unchecked) private var scratch: [AttributeValue]
  private let input: any KeyedInput
  /// The input records that the reconciliation leaves out: duplicates, and records without a complete key.
  private var excluded: IndexBits

  /// - Parameter keyWidth: The number of key attributes.
  package init(_ input: any KeyedInput, keyWidth: Int) {
    self.input = input
    var size = 16
    while size < input.count * 2 { size *= 2 }
    buckets = Array(repeating: 0, count: size)
    scratch = Array(repeating: .null, count: keyWidth)
    excluded = IndexBits(capacity: input.count)
  }

  /// The number of input records, excluded ones included.
  package var inputCount: Int { input.count }

  /// Returns the index of the inserted record with a key, and `nil` without such a record. Of several records, the
  /// result is the record that `insert` did not exclude.
  package func index(of key: [AttributeValue]) throws -> Int? {
    let bucket = try bucket(of: key, hash: Self.hash(key))
    return buckets[bucket] == 0 ? nil : Int(buckets[bucket] >> 32) - 1
  }

  /// Adds an input record, and excludes one of two records with the same key.
  ///
  /// - Parameter replacesEarlier: Whether the earlier record is excluded rather than the added one.
  /// - Returns: Whether an earlier record has the same key.
  package func insert(_ index: Int, key: [AttributeValue], replacesEarlier: Bool) throws -> Bool {
    assert((0..<input.count).contains(index), "An input index contains records of its input.")
    let hash = Self.hash(key)
    let bucket = try bucket(of: key, hash: hash)
    let earlier = buckets[bucket]
    if earlier != 0 { exclude(replacesEarlier ? Int(earlier >> 32) - 1 : index) }
    if earlier == 0 || replacesEarlier { buckets[bucket] = UInt64(index + 1) << 32 | hash >> 32 }
    return earlier != 0
  }

  /// Leaves out an input record that the caller does not insert, because its key is incomplete.
  package func exclude(_ index: Int) { excluded.insert(index) }

  package func isExcluded(_ index: Int) -> Bool { excluded.contains(index) }

  package var excludedCount: Int { excluded.count }

  /// Returns the keys of the records without a row, except for excluded records.
  ///
  /// - Parameter matched: The indexes of the records with a row.
  package func keys(notIn matched: IndexBits) throws -> KeyColumns {
    var keys = KeyColumns(width: scratch.count)
    for index in 0..<input.count where !excluded.contains(index) && !matched.contains(index) {
      try input.readKey(index, into: &scratch)
      keys.append(scratch)
    }
    return keys
  }

  /// Returns the indexes of the records without a row, except for excluded records.
  package func indexes(notIn matched: IndexBits) -> [Int] {
    (0..<input.count).filter { !excluded.contains($0) && !matched.contains($0) }
  }

  /// The key of an input record.
  package func key(at index: Int) throws -> [AttributeValue] {
    try input.readKey(index, into: &scratch)
    return scratch
  }

  // MARK: Hashing

  /// The bucket of a key: its own, or the free one that it would get.
  private func bucket(of key: [AttributeValue], hash: UInt64) throws -> Int {
    var bucket = Int(truncatingIfNeeded: hash) & (buckets.count - 1)
    while buckets[bucket] != 0 {
      if buckets[bucket] & 0xFFFF_FFFF == hash >> 32 {
        try input.readKey(Int(buckets[bucket] >> 32) - 1, into: &scratch)
        if scratch == key { break }
      }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    return bucket
  }

  static func hash(_ key: [AttributeValue]) -> UInt64 {
    var hasher = Hasher()
    for value in key { hasher.combine(value) }
    return UInt64(truncatingIfNeeded: hasher.finalize())
  }
}

extension InputIndex {
  /// The number of buckets, free ones included.
  var capacity: Int { buckets.count }

  /// Ends a debug build if an invariant of the index does not hold. Reads the keys of all records.
  func checkInvariants() throws {
    assert(capacity >= 16 && capacity & (capacity - 1) == 0, "The number of buckets is a power of two.")
    let indexes = buckets.filter { $0 != 0 }.map { Int($0 >> 32) - 1 }
    assert(indexes.count * 2 <= capacity, "At most half of the buckets are occupied.")
    assert(Set(indexes).count == indexes.count, "Each input record occupies at most one bucket.")
    assert(indexes.allSatisfy { (0..<input.count).contains($0) }, "Buckets have indexes of input records.")
    for index in indexes {
      let found = try self.index(of: key(at: index))
      assert(found == index, "A search finds the record of every occupied bucket.")
    }
    excluded.checkInvariants()
  }
}
