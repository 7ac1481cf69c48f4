/// Pairs of entities that differ, as a walk over values that are nested deep has found out.
///
/// The walk compares each entity on its way, and a difference at the bottom is one of every entity above it. Without a
/// note of that, the way down would be gone once for each level.
final class KnownDifferences {
  /// Fewer fields are compared anew: that takes less than a note.
  private static let leastDepth = 64

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let bytes: [UInt8]

    init(_ pair: FieldPair) {
      func bytes<T>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
      type = ObjectIdentifier(Swift.type(of: pair.first))
      self.bytes = _openExistential(pair.first, do: bytes) + _openExistential(pair.second, do: bytes)
    }
  }

  /// With the values, so that other values cannot come to lie in their memory.
  private var pairs: [Key: FieldPair] = [:]

  /// The values differ in a pair of fields, and so do all that these are in.
  func note(_ path: [FieldPair]) {
    guard path.count > Self.leastDepth else { return }
    for pair in path where pair.first is any Identifiable { pairs[Key(pair)] = pair }
  }

  func contains(_ pair: FieldPair) -> Bool {
    !pairs.isEmpty && pair.first is any Identifiable && pairs[Key(pair)] != nil
  }
}
