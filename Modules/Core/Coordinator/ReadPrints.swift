/// A fixed-size table of fingerprints of the records read singly, 128 KB in use. The row cache takes such a record from
/// its second read on only, so that records read once displace no other rows.
///
/// A fingerprint replaces an earlier one at the same index. Of two records with equal fingerprints, which is rare, the
/// second counts as read before.
struct ReadPrints {
  private static let capacity = 1 << 15
  private var prints: [UInt32] = []

  /// Records that a record was read.
  /// - Returns: Whether the record was read before.
  mutating func note(_ id: ManagedObjectID) -> Bool {
    if prints.isEmpty { prints = Array(repeating: 0, count: Self.capacity) }
    let space = UInt64(UInt(bitPattern: id.unmanagedSpace.toOpaque()))
    // Fibonacci hashing: the high bits are distributed best.
    let hash = (UInt64(bitPattern: id.key) ^ space &* 0xC2B2_AE3D_27D4_EB4F) &* 0x9E37_79B9_7F4A_7C15
    let index = Int(hash >> 49)
    let print = UInt32(truncatingIfNeeded: hash >> 17) | 1
    if prints[index] == print { return true }
    prints[index] = print
    return false
  }
}
