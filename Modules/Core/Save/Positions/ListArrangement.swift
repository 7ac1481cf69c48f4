/// Assigns increasing positions to the members of a reordered list.
///
/// The members of a longest increasing subsequence of the present positions keep their positions: unchanged positions
/// always form an increasing subsequence, so that no assignment keeps more of them. The other members get positions in
/// the gaps.
///
/// Where a gap is too small, the members of the smallest sparse window around the gap get evenly spread positions: the
/// algorithm of M. A. Bender, R. Cole, E. D. Demaine, M. Farach-Colton and J. Zito, "Two Simplified Algorithms for
/// Maintaining Order in a List", ESA 2002. A window of 2^i positions is sparse if it has at most (2 / T)^i members. A
/// smaller T makes smaller windows, which are full again sooner. An insertion changes O(log n) other members, on
/// average over many insertions at any positions.
struct ListArrangement {
  private let range: Range<Int64>
  /// The positions of the members in the new order; `nil` for members that still need one.
  private var positions: [Int64?]
  /// T in the algorithm.
  private static let growth = 1.5

  /// - Parameters:
  ///   - stored: The positions that the members have, in the new order; `nil` for members without a position.
  ///   - range: The positions that they may get. Holds fewer than 2^63 positions.
  init(_ stored: [Int64?], in range: Range<Int64>) {
    self.range = range
    let allowed = stored.map { position in position.flatMap { range.contains($0) ? $0 : nil } }
    positions = Array(repeating: nil, count: stored.count)
    for index in allowed.longestIncreasingSubsequence { positions[index] = allowed[index] }
  }

  /// Returns the positions of all members, none of them `nil`.
  mutating func filled() -> [Int64?] {
    var index = 0
    while let start = positions[index...].firstIndex(of: nil) {
      let end = positions[start...].firstIndex { $0 != nil } ?? positions.count
      index = fill(start..<end) ? end : respace(around: start..<end)
    }
    return positions
  }

  /// Assigns positions in the gap between their neighbours to adjacent members without a position.
  ///
  /// - Returns: `false` when the gap is too small.
  private mutating func fill(_ members: Range<Int>) -> Bool {
    let left = members.lowerBound == 0 ? nil : positions[members.lowerBound - 1]
    let right = members.upperBound == positions.count ? nil : positions[members.upperBound]
    if let left, let right {
      guard right - left > members.count else { return false }
      for (number, index) in zip(1..., members) {
        positions[index] = left + Self.fraction(number, of: members.count + 1, right - left)
      }
      return true
    }
    // The members are at an end of the list, which later members extend.
    let count = Int64(members.count)
    // The first position of a list without positions: zero, if the range has room behind it.
    let origin = max(range.lowerBound, min(0, range.upperBound - count))
    let room = right.map { $0 - range.lowerBound } ?? (range.upperBound - 1 - (left ?? origin - 1))
    let distance = min(ListPositions.spacing, room / count)
    guard distance > 0 else { return false }
    let first = right.map { $0 - count * distance } ?? left.map { $0 + distance } ?? origin
    for (position, index) in zip(stride(from: first, through: .max, by: Int(distance)), members) {
      positions[index] = position
    }
    return true
  }

  /// Spreads the members of the smallest sparse window.
  ///
  /// - Returns: The index after the last member with a new position.
  private mutating func respace(around members: Range<Int>) -> Int {
    let anchor = members.lowerBound == 0 ? range.lowerBound : positions[members.lowerBound - 1]!
    var (low, high) = (members.lowerBound, members.upperBound)
    var capacity = 1.0
    for level in 1...62 {
      capacity /= Self.growth
      let window = window(of: 1 << level, around: anchor)
      while low > 0, positions[low - 1]! >= window.lowerBound { low -= 1 }
      while high < positions.count, positions[high].map({ $0 < window.upperBound }) ?? true { high += 1 }
      let isSparse = Double(high - low) <= capacity * Double(window.upperBound - window.lowerBound)
      guard isSparse || level == 62 else { continue }
      spread(low..<high, over: window)
      break
    }
    return high
  }

  /// The aligned window around a position. Windows of one size never overlap, so that a window fills up before it is
  /// spread again.
  private func window(of size: Int64, around position: Int64) -> Range<Int64> {
    let offset = (position - range.lowerBound) / size * size
    let (end, overflows) = (range.lowerBound + offset).addingReportingOverflow(size)
    return range.lowerBound + offset..<(overflows ? range.upperBound : min(end, range.upperBound))
  }

  private mutating func spread(_ members: Range<Int>, over window: Range<Int64>) {
    let width = window.upperBound - window.lowerBound
    for (number, index) in zip(0..., members) {
      positions[index] = window.lowerBound + Self.fraction(2 * number + 1, of: 2 * members.count, width)
    }
  }

  /// The length times the number, divided by the count and rounded down, without an overflow of the product.
  private static func fraction(_ number: Int, of count: Int, _ length: Int64) -> Int64 {
    let product = UInt64(length).multipliedFullWidth(by: UInt64(number))
    return Int64(UInt64(count).dividingFullWidth((product.high, product.low)).quotient)
  }
}
