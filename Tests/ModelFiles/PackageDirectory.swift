import Foundation

/// A directory for packages, created on first use and removed with this object.
final class PackageDirectory: Sendable {
  private let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("coherence-\(UUID().uuidString)", isDirectory: true)

  deinit { try? FileManager.default.removeItem(at: url) }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// A bundle with a directory of this directory as its resources.
  func bundle(_ name: String) throws -> Bundle {
    try FileManager.default.createDirectory(at: file(name), withIntermediateDirectories: true)
    guard let bundle = Bundle(url: file(name)) else { throw CocoaError(.fileNoSuchFile) }
    return bundle
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).path) }
}
