import Foundation

/// The cost of operations by size.
struct SizeTable: Codable {
  let store: String
  let sizes: [Int]
  let rows: [Row]

  struct Row: Codable {
    /// The largest permitted ratio of the costs at the largest and the smallest size. Records outside of the
    /// processor's caches cost up to four times as much; a quadratic cost grows with the number of records.
    private static let bound = 8.0

    let name: String
    let share: SizedOperation.Share
    /// The nanoseconds of one record or call at each size. Large sizes are missing if they would take too long.
    let nanoseconds: [Double]
    /// Whether large sizes are missing.
    let isCutShort: Bool
    /// The ratio of the cost at the largest measured size to the cost at the smallest size.
    let growth: Double
    let grows: Bool

    init(_ operation: SizedOperation, nanoseconds: [Double], isCutShort: Bool) {
      name = operation.name
      share = operation.share
      self.nanoseconds = nanoseconds
      self.isCutShort = isCutShort
      let growth = nanoseconds[nanoseconds.count - 1] / nanoseconds[0]
      self.growth = growth
      grows = isCutShort || growth > Self.bound
    }
  }

  var hasGrowth: Bool { rows.contains(where: \.grows) }

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  func text() -> String {
    let heading = "Nanoseconds of one record or one call by the number of records, \(store); medians"
    let titles = ["operation", "ns per"] + sizes.map { $0.formatted() } + ["growth", ""]
    return ([heading] + TextTable(rows: [titles] + rows.map(cells)).lines).joined(separator: "\n")
  }

  private func cells(of row: Row) -> [String] {
    let costs = sizes.indices.map { index in
      index < row.nanoseconds.count ? Int(row.nanoseconds[index].rounded()).formatted() : "too slow"
    }
    return [row.name, row.share.rawValue] + costs + [String(format: "%.1f", row.growth), row.grows ? "grows" : ""]
  }
}
