/// A character class of a regular expression, as a set of Unicode scalars.
struct ScalarSet: Sendable {
  /// `\d`, `\w` and `\s`, by Unicode's properties.
  enum Category: Sendable { case digit, word, space }

  private var ranges: [ClosedRange<UInt32>] = []
  private var categories: [(category: Category, isComplement: Bool)] = []
  /// Whether the set has every scalar but those named.
  var isNegated = false

  init() {}
  init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }
  init(_ category: Category, isComplement: Bool = false) { categories = [(category, isComplement)] }

  /// The scalars that `.` stands for.
  static let notLineTerminators: ScalarSet = {
    var set = ScalarSet()
    set.ranges = [0x0A...0x0D, 0x85...0x85, 0x2028...0x2029]
    set.isNegated = true
    return set
  }()

  static func isLineTerminator(_ scalar: UInt32) -> Bool { !notLineTerminators.contains(scalar) }

  mutating func insert(_ lower: Unicode.Scalar, through upper: Unicode.Scalar) {
    ranges.append(lower.value...upper.value)
  }

  /// Adds the members of a set without negation.
  mutating func formUnion(_ other: ScalarSet) {
    ranges += other.ranges
    categories += other.categories
  }

  /// The member of a set made of one scalar.
  var onlyScalar: Unicode.Scalar? {
    guard categories.isEmpty, ranges.count == 1, ranges[0].count == 1 else { return nil }
    return Unicode.Scalar(ranges[0].lowerBound)
  }

  func contains(_ scalar: UInt32) -> Bool { isNamed(scalar) != isNegated }

  private func isNamed(_ scalar: UInt32) -> Bool {
    if ranges.contains(where: { $0.contains(scalar) }) { return true }
    guard !categories.isEmpty, let scalar = Unicode.Scalar(scalar) else { return false }
    return categories.contains { $0.category.contains(scalar) != $0.isComplement }
  }

  /// The members below U+0080 as two words of bits. Where case is ignored, a letter is in the set with its other case,
  /// before the set is negated.
  func asciiBits(ignoringCase: Bool) -> [UInt64] {
    var bits: [UInt64] = [0, 0]
    for scalar in 0..<UInt32(0x80) {
      var isIn = isNamed(scalar)
      let isLetter = (0x41...0x5A).contains(scalar & ~0x20)
      if ignoringCase, !isIn, isLetter { isIn = isNamed(scalar ^ 0x20) }
      if isIn != isNegated { bits[Int(scalar >> 6)] |= 1 << UInt64(scalar & 63) }
    }
    return bits
  }
}

extension ScalarSet.Category {
  /// Whether a scalar is of the category, as ICU defines it.
  func contains(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    switch self {
    case .digit: return properties.generalCategory == .decimalNumber
    case .space: return properties.isWhitespace
    case .word:
      if properties.isAlphabetic || scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
      switch properties.generalCategory {
      case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: return true
      default: return false
      }
    }
  }
}
