import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes files that only their owner can read and write.
enum PrivateFile {
  /// Writes a file completely, or leaves an existing file unchanged.
  ///
  /// A new file replaces an existing file: an existing file would keep its permissions, and other users with an open
  /// descriptor could read the new content.
  static func write(_ data: Data, to file: URL) throws {
    let draft = try Draft(of: file)
    try draft.write(data)
    try draft.commit()
  }

  /// A temporary file beside the target, which `commit` renames to the target. Deleted without a commit.
  final class Draft {
    private let file: URL
    /// The path of the temporary file.
    private let path: String
    private let handle: FileHandle

    init(of file: URL) throws {
      // The file behind a symbolic link is replaced, and the link stays.
      let file = file.resolvingSymlinksInPath()
      let path = file.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString)").path
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
      self.file = file
      self.path = path
      handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    // After a commit, no file has the path.
    deinit { unlink(path) }

    func write(_ data: Data) throws { try handle.write(contentsOf: data) }

    func commit() throws {
      try handle.close()
      guard rename(path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
  }
}
