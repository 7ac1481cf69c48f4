/// Draws mutants at random lines.
public enum MutantDraw {
  /// Draws mutants: at most one mutant of a line, and no mutant within another.
  ///
  /// Equal sites and an equal seed give the same mutants, in the same order.
  ///
  /// - Parameters:
  ///   - count: The number of mutants; fewer if the sources have fewer lines.
  ///   - sites: The sites of all files.
  ///   - seed: Any number.
  public static func mutants(_ count: Int, from sites: [MutationSite], seed: UInt64) -> [Mutant] {
    var generator = SeededGenerator(seed: seed)
    let lines = Dictionary(grouping: sites) { Line(path: $0.path, number: $0.line) }
    var chosen: [MutationSite] = []
    for line in lines.keys.sorted().shuffled(using: &generator) where chosen.count < count {
      guard let site = lines[line]?.randomElement(using: &generator) else { continue }
      if !chosen.contains(where: site.overlaps) { chosen.append(site) }
    }
    return chosen.enumerated().map { Mutant(number: $0.offset + 1, site: $0.element) }
  }

  private struct Line: Hashable, Comparable {
    let path: String
    let number: Int

    static func < (left: Line, right: Line) -> Bool { (left.path, left.number) < (right.path, right.number) }
  }
}

/// Random numbers by SplitMix64: the same for the same seed, on every platform.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
