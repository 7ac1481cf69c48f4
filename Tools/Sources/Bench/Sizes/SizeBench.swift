/// Measures the cost of operations with increasing numbers of records.
struct SizeBench {
  let stores: SizeStores
  let sizes: [Int]
  /// The number of runs of an operation at one size.
  let rounds: Int
  /// Called before each run.
  let progress: (SizedOperation, Int) -> Void

  /// The limit in seconds for all runs of one operation at one size. After the limit, no further run begins. If a
  /// single run exceeds the limit, larger sizes are skipped too.
  private static let timeLimit = 20.0

  /// Returns the powers of ten from 1,000 up to a number, and the number itself.
  static func sizes(upTo largest: Int) -> [Int] {
    var sizes: [Int] = []
    var size = 1_000
    while size < largest {
      sizes.append(size)
      size *= 10
    }
    return sizes + [largest]
  }

  func run(_ operations: [SizedOperation]) throws -> SizeTable {
    SizeTable(store: stores.kind.rawValue, sizes: sizes, rows: try operations.map(row))
  }

  private func row(of operation: SizedOperation) throws -> SizeTable.Row {
    // The first run includes work that a process does only once, so it is not measured.
    _ = try operation.run(stores, sizes[0])
    var nanoseconds: [Double] = []
    for size in sizes {
      let runs = try costs(of: operation, size)
      nanoseconds.append(Self.median(runs.map(\.nanoseconds)))
      if runs.contains(where: { $0.seconds > Self.timeLimit }) { break }
    }
    return SizeTable.Row(operation, nanoseconds: nanoseconds, isCutShort: nanoseconds.count < sizes.count)
  }

  /// The costs of all runs at one size: at least one.
  private func costs(of operation: SizedOperation, _ size: Int) throws -> [SizeCost] {
    let start = ContinuousClock.now
    var costs: [SizeCost] = []
    repeat {
      progress(operation, size)
      costs.append(try operation.run(stores, size))
    } while costs.count < rounds && ContinuousClock.now - start < .seconds(Self.timeLimit)
    return costs
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}
