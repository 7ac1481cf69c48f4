import CoherenceCore
import Foundation

/// Reads and writes the files of packages.
enum PackageFiles {
  /// The contents of a regular file, at most one byte more than a limit, by which ``XMLGuard`` recognizes a longer
  /// file.
  ///
  /// - Throws: ``ErrorCode/modelNotFound`` for a missing file, ``ErrorCode/inputOutput`` for another kind of file.
  static func data(at url: URL, limit: Int = XMLGuard.Limits().size) throws(CoherenceError) -> Data {
    let path = url.resolvingSymlinksInPath().path
    guard let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType else {
      throw CoherenceError(.modelNotFound, "The model file '\(url.path)' does not exist.")
    }
    // A pipe or a device would block or never end.
    guard kind == .typeRegular else {
      throw CoherenceError(.inputOutput, "The model file '\(url.path)' is not a regular file.")
    }
    do {
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? handle.close() }
      return try handle.read(upToCount: limit + 1) ?? Data()
    } catch {
      throw CoherenceError(.inputOutput, "The model file '\(url.path)' cannot be read.", underlying: error)
    }
  }

  /// Replaces a file as a whole and makes the directories above it.
  static func write(_ text: String, to url: URL) throws(CoherenceError) {
    do {
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url, options: .atomic)
    } catch {
      throw CoherenceError(.inputOutput, "The model file '\(url.path)' cannot be written.", underlying: error)
    }
  }

  static func isDirectory(_ url: URL) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  /// The names of the items in a directory, sorted; empty for a missing directory.
  static func names(in url: URL) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
  }
}
