/// A set of indexes of input records that takes one bit for each input record.
///
/// Invariant, see ``checkInvariants()``: `size` is the number of bits that are set. An index beyond the capacity is an
/// error of the caller, and ends the process if the last word has no bit for it.
package struct IndexBits {
  @usableFromInline var words: [UInt64]
  @usableFromInline var size = 0

  package init(capacity: Int) { words = Array(repeating: 0, count: (capacity + 63) / 64) }

  /// The number of indexes in the set.
  @inlinable package var count: Int { size }

  @inlinable package func contains(_ index: Int) -> Bool { words[index / 64] & (1 << UInt64(index % 64)) != 0 }

  @inlinable package mutating func insert(_ index: Int) {
    guard !contains(index) else { return }
    words[index / 64] |= 1 << UInt64(index % 64)
    size += 1
  }

  /// Ends a debug build if the invariant of the set does not hold.
  func checkInvariants() {
    assert(words.reduce(0) { $0 + $1.nonzeroBitCount } == size, "A set of indexes counts the bits that are set.")
  }
}
