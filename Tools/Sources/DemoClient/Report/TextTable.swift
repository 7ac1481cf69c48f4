/// Text in columns. The first column is aligned to the left, and the other columns to the right.
package struct TextTable {
  private var rows: [[String]]

  package init(header: [String]) { rows = [header] }

  package mutating func add(_ row: [String]) { rows.append(row) }

  /// The lines of the table: the header, a rule, and the rows.
  package var lines: [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    var lines = rows.map { row in
      zip(row, widths).enumerated().map { column, cell in
        let padding = String(repeating: " ", count: cell.1 - cell.0.count)
        return column == 0 ? cell.0 + padding : padding + cell.0
      }.joined(separator: "  ")
    }
    lines.insert(String(repeating: "─", count: widths.reduce(2 * (widths.count - 1), +)), at: 1)
    return lines
  }
}
