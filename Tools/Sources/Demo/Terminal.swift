import Foundation

/// Standard output.
struct Terminal: Sendable {
  /// Whether a line can be overwritten, because the output is a terminal.
  let isInteractive = isatty(STDOUT_FILENO) == 1

  /// Writes without a buffer to a terminal, a pipe or a file.
  func write(_ text: String) {
    guard !text.isEmpty else { return }
    try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
  }

  /// Writes an empty line and the lines of a paragraph.
  func paragraph(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    write("\n" + lines.joined(separator: "\n") + "\n")
  }
}
