/// A set of slots of one row, such as the changed slots of a record.
///
/// Slots below 64 are bits of one word, so that the sets of most entities allocate no memory, and are compared, united
/// and searched at a constant cost.
///
/// Invariant, see `checkInvariants`: the last of the further words is not zero, so that equal sets have equal words.
public struct SlotSet: Sendable, Hashable, Sequence {
  /// The first 64 slots. Most entities have no further slots.
  @usableFromInline var low: UInt64 = 0
  /// The slots from 64 on, as further words of 64 bits.
  @usableFromInline var high: [UInt64] = []

  /// Makes an empty set.
  @inlinable public init() {}
  /// Makes a set of slots.
  public init(_ slots: some Sequence<Int>) { for slot in slots { insert(slot) } }

  /// Whether the set has no slot.
  @inlinable public var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }
  /// The number of slots in the set.
  public var count: Int { high.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  /// Whether a slot is in the set.
  @inlinable public func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low & (1 << UInt64(slot)) != 0 }
    let word = slot / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(slot % 64)) != 0
  }

  /// Adds a slot. Slots from 64 on allocate memory.
  @inlinable @inline(__always) public mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 &<< UInt64(truncatingIfNeeded: slot)
      return
    }
    insertHigh(slot)
  }

  /// Adds a slot from 64 on.
  @usableFromInline mutating func insertHigh(_ slot: Int) {
    let word = slot / 64 - 1
    while high.count <= word { high.append(0) }
    high[word] |= 1 << UInt64(slot % 64)
  }

  /// Removes a slot, if it is in the set.
  @inlinable public mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 << UInt64(slot))
      return
    }
    let word = slot / 64 - 1
    guard word < high.count else { return }
    high[word] &= ~(1 << UInt64(slot % 64))
    while high.last == 0 { high.removeLast() }
  }

  /// Ends a debug build if the invariant of the set does not hold.
  func checkInvariants() { assert(high.last != 0, "A set of slots has no words of zero at its end.") }

  /// The slots of both sets.
  public func union(_ other: SlotSet) -> SlotSet {
    var result = self
    for slot in other { result.insert(slot) }
    return result
  }

  /// As the method of all sequences, whose iterator allocates memory: saves ask for every record.
  func allSatisfy(_ predicate: (Int) throws -> Bool) rethrows -> Bool {
    guard try Self.allSatisfy(in: low, from: 0, predicate) else { return false }
    for (index, word) in high.enumerated() {
      guard try Self.allSatisfy(in: word, from: (index + 1) * 64, predicate) else { return false }
    }
    return true
  }

  /// Whether the slots of a word satisfy a predicate.
  @inline(__always) private static func allSatisfy(
    in word: UInt64, from start: Int, _ predicate: (Int) throws -> Bool
  ) rethrows -> Bool {
    var bits = word
    while bits != 0 {
      guard try predicate(start + bits.trailingZeroBitCount) else { return false }
      bits &= bits - 1
    }
    return true
  }

  /// The slots in ascending order.
  public func makeIterator() -> AnyIterator<Int> {
    var word = 0
    var bits = low
    return AnyIterator {
      while bits == 0 {
        guard word < high.count else { return nil }
        bits = high[word]
        word += 1
      }
      defer { bits &= bits - 1 }
      return word * 64 + bits.trailingZeroBitCount
    }
  }
}
