/// The figures of one measure.
struct Outcome: Codable {
  let name: String
  let title: String
  let unit: Measure.Unit
  let items: Int
  let item: String
  let sides: [SideFigures]
  let verdicts: [Verdict]

  /// - Parameter amounts: By side, the samples of the rounds.
  init(_ measure: Measure, amounts: [[Double]]) {
    name = measure.name
    title = measure.title
    unit = measure.unit
    items = measure.items
    item = measure.item
    let figures = zip(measure.sides, amounts).map { SideFigures($0, amounts: $1, items: measure.items) }
    sides = figures
    verdicts = measure.goals.compactMap { Verdict($0, unit: measure.unit, figures: figures) }
  }
}

/// The figures of one side: all in seconds or bytes.
struct SideFigures: Codable {
  let name: String
  let role: Side.Role
  let median: Double
  let minimum: Double
  let maximum: Double
  /// The median's share of one item.
  let each: Double

  init(_ side: Side, amounts: [Double], items: Int) {
    let sorted = amounts.sorted()
    let middle = sorted.count / 2
    name = side.name
    role = side.role
    median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    minimum = sorted[0]
    maximum = sorted[sorted.count - 1]
    each = median / Double(items)
  }
}
