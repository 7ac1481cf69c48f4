package import Foundation

/// The location of a directory, which a test or a store creates. The release of this object removes the directory.
package final class TemporaryDirectory: Sendable {
  package let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("coherence-\(UUID().uuidString)", isDirectory: true)

  package init() {}

  deinit { try? FileManager.default.removeItem(at: url) }

  package func file(_ name: String) -> URL { url.appendingPathComponent(name) }
  package func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).path) }
  /// The names of the files, sorted.
  package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }
}
