/// Aligns cells in columns: the first to the left, numbers to the right.
struct TextTable {
  let rows: [[String]]

  var lines: [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      row.indices.map { pad(row[$0], to: widths[$0], isFirst: $0 == 0) }.joined(separator: "  ")
        .replacing(/\s+$/, with: "")
    }
  }

  private func pad(_ cell: String, to width: Int, isFirst: Bool) -> String {
    let space = String(repeating: " ", count: width - cell.count)
    return isFirst ? cell + space : space + cell
  }
}
