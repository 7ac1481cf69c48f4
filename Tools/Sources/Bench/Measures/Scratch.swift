import Foundation

/// A directory for the databases of a run, removed at its end.
final class Scratch {
  let directory: URL
  private var count = 0

  init(in parent: URL) throws {
    directory = parent.appendingPathComponent("coherence-bench-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// The location of a new file.
  func fresh() -> URL {
    count += 1
    return directory.appendingPathComponent("\(count).sqlite")
  }

  /// Runs the body with a database file of its own, or with a copy of the given one, and removes the file afterwards.
  func with<T>(copyOf original: URL? = nil, _ body: (URL) throws -> T) throws -> T {
    let file = fresh()
    defer { for part in Self.parts(of: file) { try? FileManager.default.removeItem(at: part) } }
    if let original { try copy(original, to: file) }
    return try body(file)
  }

  private func copy(_ original: URL, to file: URL) throws {
    for (source, target) in zip(Self.parts(of: original), Self.parts(of: file))
    where FileManager.default.fileExists(atPath: source.path) {
      try FileManager.default.copyItem(at: source, to: target)
    }
  }

  /// A database and its journal.
  private static func parts(of file: URL) -> [URL] {
    ["", "-wal", "-shm"].map { URL(fileURLWithPath: file.path + $0) }
  }
}
