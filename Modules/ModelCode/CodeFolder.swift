import CoherenceCore
public import Foundation

/// A folder for generated sources.
public struct CodeFolder: Sendable {
  /// The location of the folder.
  public let url: URL

  /// Makes a value for a folder, which may be missing until the first write.
  public init(_ url: URL) { self.url = url }

  /// Writes sources. A file with the same text already is not touched, so that builds see no change. A file without the
  /// header of generated files is replaced only if `force` is set. A class of the program, which a run with the style
  /// ``CodeStyle/base`` writes once, is not replaced by such a run, even if `force` is set; a run with another style
  /// treats it as any other file without the header.
  ///
  /// If a file may not be replaced, no file is written, and the report names the file. Generated files of the same
  /// model file that the sources do not have are reported and not removed.
  ///
  /// - Parameters:
  ///   - code: The sources.
  ///   - source: The name of the model file in the headers, by which files of several models differ.
  ///   - force: Whether files without the header are replaced, except for files that are written once.
  /// - Throws: `CoherenceError` with the code `inputOutput` when a file cannot be read, before any file is written, or
  ///   cannot be written. Files that come before the latter are written.
  public func write(_ code: GeneratedCode, source: String, force: Bool = false) throws -> CodeReport {
    var report = CodeReport()
    report.warnings = code.warnings
    var changed: [GeneratedFile] = []
    for file in code.files {
      guard let present = try text(of: file.name) else {
        changed.append(file)
        continue
      }
      if (file.isWrittenOnce && !isGenerated(present)) || present == Data(file.text.utf8) {
        report.unchanged.append(file.name)
      } else if force || isGenerated(present) {
        changed.append(file)
      } else {
        report.refused.append(file.name)
      }
    }
    report.orphaned = try orphans(besides: Set(code.files.map(\.name)), source: source)
    guard report.refused.isEmpty else { return report }
    for file in changed {
      try write(file)
      report.written.append(file.name)
    }
    return report
  }

  private func isGenerated(_ text: Data) -> Bool { text.starts(with: Data(GeneratedFile.headerMark.utf8)) }

  private func text(of name: String) throws -> Data? {
    let file = url.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return try translating("read", name) { try Data(contentsOf: file) }
  }

  private func write(_ file: GeneratedFile) throws {
    try translating("write", file.name) {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try Data(file.text.utf8).write(to: url.appendingPathComponent(file.name), options: .atomic)
    }
  }

  /// The generated files of the model file that are not among the sources.
  private func orphans(besides names: Set<String>, source: String) throws -> [String] {
    guard FileManager.default.fileExists(atPath: url.path) else { return [] }
    let header = Data(GeneratedFile.header(of: source).utf8)
    let present = try translating("list", "") { try FileManager.default.contentsOfDirectory(atPath: url.path) }
    return try present.filter { $0.hasSuffix(".swift") && !names.contains($0) }.sorted()
      .filter { try text(of: $0)?.starts(with: header) == true }
  }

  /// Runs an operation on a file, and names the file in its error.
  private func translating<Result>(_ verb: String, _ name: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw CoherenceError(
        .inputOutput,
        "Could not \(verb) '\(url.appendingPathComponent(name).path)'; check the path and its permissions.",
        underlying: error)
    }
  }
}
