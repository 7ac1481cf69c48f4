/// Aligns cells in columns, to the left.
struct TextTable {
  let rows: [[String]]

  var lines: [String] {
    let columns = rows.map(\.count).max() ?? 0
    let cells = rows.map { $0.map(\.onOneLine) }
    let widths = (0..<columns).map { column in cells.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
    return cells.map { row in
      row.indices.map { row[$0] + String(repeating: " ", count: widths[$0] - row[$0].count) }.joined(separator: "  ")
        .replacing(/\s+$/, with: "")
    }
  }
}

extension String {
  /// The text without line breaks and other control characters, which would disturb a terminal, and without the
  /// characters that show other text in another order.
  var onOneLine: String { String(map { $0.unicodeScalars.contains(where: \.disturbsTerminal) ? " " : $0 }) }
}

extension Unicode.Scalar {
  /// Whether the character is a command for terminals, or changes the direction of the text after it.
  fileprivate var disturbsTerminal: Bool {
    properties.generalCategory == .control || (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
  }
}
