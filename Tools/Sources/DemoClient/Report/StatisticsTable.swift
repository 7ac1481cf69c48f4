import Coherence
import Foundation

/// The statistics of actions, summed up in a row for each type of action and completion status.
package struct StatisticsTable {
  private var rows: [Row] = []

  private struct Row {
    let action: String
    let status: String
    var runs = 0
    var statistics = Sums()
  }

  private struct Sums {
    var inserts = 0
    var updates = 0
    var deletes = 0
    var fetches = 0
    var fetchTime = 0.0
    var saveTime = 0.0
    var time = 0.0
  }

  package init(_ proxies: [any ActionProxy]) {
    for proxy in proxies { add(proxy) }
  }

  private mutating func add(_ proxy: any ActionProxy) {
    let action = "\(type(of: proxy.action))"
    let status = "\(proxy.completionStatus)"
    let known = rows.firstIndex { $0.action == action && $0.status == status }
    let index = known ?? rows.endIndex
    if known == nil { rows.append(Row(action: action, status: status)) }
    let statistics = proxy.statistics
    rows[index].runs += 1
    rows[index].statistics.time += statistics.executionTime
    guard let context = statistics.contextStatistics else { return }
    rows[index].statistics.inserts += context.inserts
    rows[index].statistics.updates += context.updates
    rows[index].statistics.deletes += context.deletes
    rows[index].statistics.fetches += context.fetches
    rows[index].statistics.fetchTime += context.fetchTime
    rows[index].statistics.saveTime += context.saveTime
  }

  /// The table's lines. Times are in seconds.
  package var lines: [String] {
    var table = TextTable(
      header: ["action", "runs", "status", "inserts", "updates", "deletes", "fetches", "fetch s", "save s", "total s"])
    for row in rows {
      let sums = row.statistics
      table.add([
        row.action, "\(row.runs)", row.status, "\(sums.inserts)", "\(sums.updates)", "\(sums.deletes)",
        "\(sums.fetches)", Self.seconds(sums.fetchTime), Self.seconds(sums.saveTime), Self.seconds(sums.time),
      ])
    }
    return table.lines
  }

  private static func seconds(_ time: Double) -> String { String(format: "%.3f", time) }
}
