/// The positions of members in ordered lists.
///
/// A list is a value of its owner's row, so that each save that adds members raises the owner's version. Positions that
/// begin with the version lie behind all positions of earlier versions, so that appending reads no list.
///
/// Positions have gaps, so that a member that moves gets a position between its neighbours, whose positions stay. Lists
/// with positions of any other distribution, such as consecutive ones, are lists like any other.
enum ListPositions {
  /// The number of positions of each version.
  private static let span: Int64 = 1 << 32
  /// The distance between members that are appended, or moved to an end of their list. A larger distance costs each row
  /// of a list a byte or more.
  static let spacing: Int64 = 1 << 16

  /// The first position behind all members of a list at a version of its owner; `nil` for an owner without a version, and
  /// for a version whose positions would overflow. Another program may have written such a version.
  static func first(behindVersion version: Int64?) -> Int64? {
    guard let version, (0..<1 << 30).contains(version) else { return nil }
    return (version + 1) * span
  }

  /// The positions that members of a list may have at a version of its owner. Members added later get positions behind
  /// them.
  static func range(atVersion version: Int64) -> Range<Int64> {
    -(1 << 61)..<(first(behindVersion: version) ?? 1 << 62)
  }

  /// The positions of members that one save appends.
  static func appended(_ count: Int, from first: Int64) -> [Int64] {
    let distance = max(1, min(spacing, span / Int64(max(count, 1))))
    return (0..<Int64(count)).map { first + $0 * distance }
  }

  /// Returns the positions of a list's members in a new order, and changes as few stored positions as the gaps allow.
  ///
  /// - Parameters:
  ///   - stored: The positions that the members have, in the new order.
  ///   - range: The positions that they may get.
  /// - Returns: Rising positions; `nil` for leading members that need none.
  static func arranged(_ stored: [StoredPosition], in range: Range<Int64>) -> [Int64?] {
    let start = stored.leadingMissing
    var arrangement = ListArrangement(stored[start...].map(\.position), in: range)
    let positions = arrangement.filled()
    return start == 0 ? positions : Array(repeating: nil, count: start) + positions
  }
}

/// The position of a list's member before a save.
enum StoredPosition: Equatable {
  /// The member is new to the list, so that a save writes its row or its link in any case.
  case new
  /// The member has no position in the store, where such members come before all others, in the order of their keys.
  case missing(key: Int64)
  case at(Int64)

  fileprivate var position: Int64? { if case .at(let position) = self { position } else { nil } }

  /// Whether the store has to be given a position.
  func differs(from position: Int64?) -> Bool {
    switch self {
    case .new: true
    case .missing: position != nil
    case .at(let stored): stored != position
    }
  }
}

extension [StoredPosition] {
  /// The number of leading members that keep their order without positions.
  fileprivate var leadingMissing: Int {
    var last = Int64.min
    for (index, stored) in enumerated() {
      guard case .missing(let key) = stored, key >= last else { return index }
      last = key
    }
    return count
  }
}
