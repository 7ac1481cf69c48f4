import Foundation

/// A directory of one test, removed with the value's owner. Its path is short enough for the name of a socket.
final class TemporaryDirectory: Sendable {
  let url: URL
  var path: String { url.path(percentEncoded: false) }
  /// The location of the test's store.
  var store: URL { url.appendingPathComponent("store.sqlite") }

  init() throws {
    // The path must have no symbolic links, because a ``Disk`` and SQLite identify a file by its path.
    url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("coherence-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
