import Foundation

/// Standard output.
struct Terminal: Sendable {
  /// Whether lines can be drawn again.
  let isInteractive = isatty(STDOUT_FILENO) == 1

  /// Writes at once, to a terminal, a pipe or a file.
  func write(_ text: String) {
    guard !text.isEmpty else { return }
    try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
  }

  /// Writes a paragraph: the lines, after an empty one.
  func paragraph(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    write("\n" + lines.joined(separator: "\n") + "\n")
  }
}
