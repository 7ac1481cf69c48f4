import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Files that their owner alone can read and write.
enum PrivateFile {
  /// Writes a file as a whole, or leaves the one that is there as it was.
  ///
  /// A file that exists is replaced by a new one, because one that others could read keeps its mode, and those who have
  /// it open keep reading.
  static func write(_ data: Data, to file: URL) throws {
    let draft = try Draft(of: file)
    try draft.write(data)
    try draft.commit()
  }

  /// A file that is being written, beside the one that it replaces in the end. It is deleted unless it is committed.
  final class Draft {
    private let file: URL
    private let draft: String
    private let handle: FileHandle
    private var isCommitted = false

    init(of file: URL) throws {
      let file = file.resolvingSymlinksInPath()
      let draft = file.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString)").path
      let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
      self.file = file
      self.draft = draft
      handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    deinit {
      if !isCommitted { unlink(draft) }
    }

    func write(_ data: Data) throws { try handle.write(contentsOf: data) }

    func commit() throws {
      try handle.close()
      guard rename(draft, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
      isCommitted = true
    }
  }
}
