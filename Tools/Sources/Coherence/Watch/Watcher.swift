import Foundation

/// One record in the output of a `watch` command.
struct WatchedRow {
  /// The identity of the record.
  let id: String
  let cells: [String]
  let state: String
  /// The description of the record in a line about its change.
  let subject: String
  let json: JSON
  /// The values whose change leads to a line.
  let fingerprint: [String]
}

/// The records in one read of the store.
struct WatchedRows {
  let title: String
  let columns: [String]
  let rows: [WatchedRow]
}

/// Shows records continually. A terminal shows a table, redrawn after each read of the store; any other output gets a
/// line for each change.
struct Watcher {
  let interval: Duration
  /// The number of reads of the store after which the command ends; `nil` for no limit.
  let readLimit: Int?
  let isJSON: Bool
  /// Returns the state to print for a row that the last read no longer contains.
  var stateOfRemoved: (WatchedRow) async throws -> String = { _ in "removed" }

  func run(_ read: () async throws -> WatchedRows) async throws {
    let screen = isJSON ? nil : Screen()
    defer { screen?.finish() }
    var known: [String: WatchedRow] = [:]
    var count = 0
    do {
      while true {
        let rows = try await read()
        if let screen { screen.draw(rows) } else { try await writeChanges(to: rows, from: &known) }
        count += 1
        if let readLimit, count >= readLimit { return }
        try await Task.sleep(for: interval)
      }
    } catch  where Task.isCancelled {
      // The user has ended the command, during a read or between two reads.
    }
  }

  private func writeChanges(to rows: WatchedRows, from known: inout [String: WatchedRow]) async throws {
    let present = Dictionary(rows.rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for row in known.values.filter({ present[$0.id] == nil }).sorted(by: { $0.id < $1.id }) {
      try write(row, await stateOfRemoved(row))
    }
    for row in rows.rows where known[row.id]?.fingerprint != row.fingerprint { try write(row, row.state) }
    known = present
  }

  private func write(_ row: WatchedRow, _ state: String) throws {
    if isJSON {
      let line: JSON = ["date": .date(Date()), "id": .string(row.id), "record": row.json, "state": .string(state)]
      try Output.json(line, isPretty: false)
    } else {
      Output.line("\(Date().short) \(state) \(row.subject)")
    }
  }
}

/// Draws a table on the terminal.
struct Screen {
  /// Prepares the terminal. Returns `nil` when the output is not a terminal.
  init?() {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    // Switches to the alternate screen, so that `finish` can restore the contents, and hides the cursor.
    Output.write("\u{1B}[?1049h\u{1B}[?25l")
  }

  func finish() { Output.write("\u{1B}[?25h\u{1B}[?1049l") }

  func draw(_ rows: WatchedRows) {
    let size = Self.size
    var lines = [rows.title.onOneLine, ""] + TextTable(rows: [rows.columns] + rows.rows.map(\.cells)).lines
    let room = max(3, size.rows - 1)
    if lines.count > room {
      let hidden = lines.count - room + 1
      lines = lines.prefix(room - 1) + ["… \(hidden) more"]
    }
    let text = lines.map { String($0.prefix(size.columns)) + "\u{1B}[K" }.joined(separator: "\r\n")
    Output.write("\u{1B}[H" + text + "\u{1B}[J")
  }

  private static var size: (rows: Int, columns: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return (24, 80) }
    return (Int(size.ws_row), Int(size.ws_col))
  }
}
