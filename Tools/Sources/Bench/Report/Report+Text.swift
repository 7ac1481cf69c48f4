import Foundation

/// The report as one reads it.
extension Report {
  func text() -> String { ([heading()] + outcomes.map { $0.text() }).joined(separator: "\n\n") }

  private func heading() -> String {
    var lines = [
      "\(machine.processor), \(machine.cores) cores, \(machine.memory >> 30) GB, \(machine.system)",
      "SQLite \(databases.sqlite), libpq \(databases.libpq)"
        + (databases.postgreSQL.map { ", PostgreSQL \($0)" } ?? "; without PostgreSQL (--postgres URL)"),
    ]
    lines += databases.pragmas.sorted { $0.key > $1.key }.map { "\($0): \(Self.list($1))" }
    if !databases.postgreSQLSettings.isEmpty { lines.append("PostgreSQL: \(Self.list(databases.postgreSQLSettings))") }
    lines.append("\(rows.formatted()) rows, \(rounds) rounds, sides interleaved in one process; medians")
    if !machine.isOptimized { lines.append("NOT OPTIMIZED: build with -c release for figures that mean something.") }
    return lines.joined(separator: "\n")
  }

  private static func list(_ settings: [String: String]) -> String {
    settings.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
  }
}

extension Outcome {
  func text() -> String {
    let rows = [["", "median", "min", "max", "per \(item)", "/ C", "/ GRDB"]] + sides.map(row)
    let lines = TextTable(rows: rows).lines.map { "  " + $0 }
    return (["\(title) (\(name))"] + lines + verdicts.map { "  " + $0.text() }).joined(separator: "\n")
  }

  private func row(_ side: SideFigures) -> [String] {
    [
      side.name, quantity(side.median), quantity(side.minimum), quantity(side.maximum), quantity(side.each),
      ratio(side, to: .raw), ratio(side, to: .grdb),
    ]
  }

  private func quantity(_ amount: Double) -> String {
    let units = unit == .time ? [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)] : [("MB", 1e6), ("B", 1)]
    let fitting = units.first { amount >= $0.1 } ?? units[units.count - 1]
    return String(format: "%.\(amount / fitting.1 < 10 ? 2 : 1)f ", amount / fitting.1) + fitting.0
  }

  private func ratio(_ side: SideFigures, to role: Side.Role) -> String {
    guard let fastest = sides.filter({ $0.role == role }).map(\.median).min() else { return "" }
    return String(format: "%.2f", side.median / fastest)
  }
}

extension Verdict {
  func text() -> String {
    "\(isMet ? "met   " : "MISSED") \(goal): \(Self.number(value)), goal at most \(Self.number(bound))"
  }

  private static func number(_ value: Double) -> String { String(format: value < 20 ? "%.2f" : "%.0f", value) }
}
