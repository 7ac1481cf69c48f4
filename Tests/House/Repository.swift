import Foundation
import Synchronization

/// The files of the repository that the tests were built from.
struct Repository {
  let root: URL

  /// Finds the root from the place of this file.
  init(file: String = #filePath) {
    root = URL(fileURLWithPath: file).resolvingSymlinksInPath()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }

  /// The names of the folders directly in a folder.
  func folders(in path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      at: root.appendingPathComponent(path), includingPropertiesForKeys: [.isDirectoryKey], options: .skipsHiddenFiles
    )
    .filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }
    .map(\.lastPathComponent)
    .sorted()
  }

  /// The lines of a file.
  func lines(of path: String) throws -> [String] {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8).components(separatedBy: "\n")
  }

  /// The Swift files in the folders at any depth, without files of build directories.
  func sources(in paths: String...) throws -> [SourceFile] {
    try paths.flatMap { path in
      let folder = root.appendingPathComponent(path)
      guard
        let files = FileManager.default.enumerator(
          at: folder, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
      else { return [SourceFile]() }
      return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }
        .map { try SourceFile.at($0, under: root) }
    }
  }
}

/// A Swift file and its lines.
final class SourceFile: Sendable {
  /// Relative to the root of the repository.
  let path: String
  let lines: [String]
  private let text: String
  private let scannedCode = Mutex<[String]?>(nil)

  /// The files that the tests have read, by their paths. Many tests look at the same files.
  private static let known = Mutex<[String: SourceFile]>([:])

  /// Returns a file, which the first call reads.
  static func at(_ url: URL, under root: URL) throws -> SourceFile {
    if let file = known.withLock({ $0[url.path] }) { return file }
    let file = SourceFile(
      path: String(url.resolvingSymlinksInPath().path.dropFirst(root.path.count + 1)),
      text: try String(contentsOf: url, encoding: .utf8))
    return known.withLock { files in
      let first = files[url.path] ?? file
      files[url.path] = first
      return first
    }
  }

  init(path: String, text: String) {
    self.path = path
    self.text = text
    var lines = text.components(separatedBy: "\n")
    if lines.last?.isEmpty == true { lines.removeLast() }
    self.lines = lines
  }

  /// The lines without comments and without the contents of strings.
  var code: [String] {
    scannedCode.withLock { known in
      let code = known ?? CodeScanner.lines(of: lines.joined(separator: "\n"))
      known = code
      return code
    }
  }

  /// Whether the text has any of several words, also within longer words. The comparison of bytes is many times as fast as
  /// `contains`, which compares characters.
  func mentions(_ words: some Sequence<String>) -> Bool {
    text.withCString { text in words.contains { strstr(text, $0) != nil } }
  }

  var name: String { String((path as NSString).lastPathComponent.dropLast(".swift".count)) }

  /// The places, as `path:line`, of the lines that satisfy a condition.
  func places(where condition: (_ line: String) throws -> Bool) rethrows -> [String] {
    try lines.enumerated().filter { try condition($0.element) }.map { "\(path):\($0.offset + 1)" }
  }
}
