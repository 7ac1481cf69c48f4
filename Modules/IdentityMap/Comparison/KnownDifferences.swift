/// Pairs of entities that a walk over nested values has found to differ.
///
/// The walk compares each entity, and a difference at the bottom is a difference of every entity above it. Without this
/// record, each level would search the difference again.
final class KnownDifferences {
  /// Only longer paths are recorded: comparing a shorter path again costs less than a record.
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

  /// Retains the values, so that their memory is not reused for others.
  private var pairs: [Key: FieldPair] = [:]

  /// Records that the last pair of a path differs. Each pair of the path contains the next one, so all of them differ.
  func note(_ path: [FieldPair]) {
    guard path.count > Self.leastDepth else { return }
    for pair in path where pair.first is any Identifiable { pairs[Key(pair)] = pair }
  }

  func contains(_ pair: FieldPair) -> Bool {
    !pairs.isEmpty && pair.first is any Identifiable && pairs[Key(pair)] != nil
  }
}
