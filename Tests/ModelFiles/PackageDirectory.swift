import Foundation

/// A directory for packages, created on first use and removed with this object.
final class PackageDirectory: Sendable {
  private let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("coherence-\(UUID().uuidString)", isDirectory: true)

  deinit { try? FileManager.default.removeItem(at: url) }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).path) }
}
