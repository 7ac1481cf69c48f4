#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The identity of a file, the same for all its names.
struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  /// The identity of the file at a path; `nil` without a file.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  fileprivate init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }

  /// Whether the file at a path is a device, a pipe or a socket. `false` without a file.
  static func isSpecial(path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }

  /// The size in bytes of the file at a path; `nil` without a file.
  static func size(path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }
}

/// The state of a file's content, by the file's identity, its size, and the time of its last change.
struct FileState: Hashable, Sendable {
  private let identity: FileIdentity
  private let size: Int
  private let seconds: Int
  private let nanoseconds: Int

  /// The state of the file at a path; `nil` without a file.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    identity = FileIdentity(status)
    size = Int(status.st_size)
    #if canImport(Darwin)
      let date = status.st_mtimespec
    #else
      let date = status.st_mtim
    #endif
    (seconds, nanoseconds) = (Int(date.tv_sec), Int(date.tv_nsec))
  }
}
