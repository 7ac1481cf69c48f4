/// The positions of members in ordered lists.
///
/// A list is a value of its owner's row, so that each save that adds members raises the owner's version. The version is
/// the high part of a position. So the positions of a version come after all positions of earlier versions, and an
/// append reads no list.
enum ListPositions {
  /// The number of positions of each version.
  private static let span: Int64 = 1 << 32

  /// The first position behind all members of a list at a version of its owner; `nil` for an owner without a version,
  /// and for a version whose positions would overflow.
  static func first(behindVersion version: Int64?) -> Int64? {
    guard let version, version < 1 << 30 else { return nil }
    return (version + 1) * span
  }
}
