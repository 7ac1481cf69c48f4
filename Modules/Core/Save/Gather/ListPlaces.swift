/// The places of members in ordered lists.
///
/// A list is a value of its owner's row, so each save that adds to it raises the owner's version. Places that begin with
/// the version lie behind all that earlier versions gave, so that an addition at the end needs no look at the list.
enum ListPlaces {
  /// How many places each version has.
  private static let span: Int64 = 1 << 32

  /// The first place behind all members of a list at a version of its owner; `nil` for an owner without a version, and for
  /// versions whose places would overflow.
  static func first(behindVersion version: Int64?) -> Int64? {
    guard let version, version < 1 << 30 else { return nil }
    return (version + 1) * span
  }
}
