/// Whether a goal was reached.
struct Verdict: Codable {
  let goal: String
  let value: Double
  let bound: Double
  let isMet: Bool

  /// `nil` when a side that the goal speaks of was not measured.
  init?(_ goal: Goal, unit: Measure.Unit, figures: [SideFigures]) {
    switch goal {
    case .ratio(let role, let bound):
      guard let ours = figures.first(where: { $0.role == .ours }),
        let other = figures.filter({ $0.role == role }).min(by: { $0.median < $1.median })
      else { return nil }
      self.init("\(ours.name) / \(other.name)", value: ours.median / other.median, bound: bound)
    case .between(let name, let otherName, let bound):
      guard let side = figures.first(where: { $0.name == name }),
        let other = figures.first(where: { $0.name == otherName })
      else { return nil }
      self.init("\(name) / \(otherName)", value: side.median / other.median, bound: bound)
    case .betweenRatios(let pair, let otherPair, let bound):
      guard let ratio = figures.ratio(of: pair), let other = figures.ratio(of: otherPair) else { return nil }
      self.init(
        "\(pair.with) / \(pair.without), over \(otherPair.with) / \(otherPair.without)", value: ratio / other,
        bound: bound)
    case .each(let name, let bound):
      guard let side = figures.first(where: { $0.name == name }) else { return nil }
      let scale = unit == .time ? 1e9 : 1
      self.init("\(name), \(unit == .time ? "ns" : "bytes") each", value: side.each * scale, bound: bound * scale)
    }
  }

  private init(_ goal: String, value: Double, bound: Double) {
    self.goal = goal
    self.value = value
    self.bound = bound
    self.isMet = value <= bound
  }
}

extension [SideFigures] {
  /// The ratio of the medians of two sides; `nil` when one of them was not measured.
  fileprivate func ratio(of pair: SidePair) -> Double? {
    guard let with = first(where: { $0.name == pair.with }), let without = first(where: { $0.name == pair.without })
    else { return nil }
    return with.median / without.median
  }
}
