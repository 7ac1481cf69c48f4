import Foundation

/// A directory that goes with the value that stands for it. Not made before somebody needs it.
final class TemporaryDirectory: Sendable {
  let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("coherence-\(UUID().uuidString)", isDirectory: true)

  deinit { try? FileManager.default.removeItem(at: url) }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: url.appendingPathComponent(name).path) }
}
