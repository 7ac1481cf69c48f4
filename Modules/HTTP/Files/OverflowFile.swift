import CoherenceCore
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Bytes in a file without a name, first in, first out. The file goes with its last user, even when the process is killed.
final class OverflowFile {
  private let descriptor: Int32
  private var readOffset = 0
  private var writeOffset = 0

  /// - Throws: ``ErrorCode/inputOutput``.
  init() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(".\(UUID().uuidString)").path
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure() }
    unlink(path)
  }

  deinit { close(descriptor) }

  /// How many bytes were not read yet.
  var unreadCount: Int { writeOffset - readOffset }

  /// - Throws: ``ErrorCode/inputOutput``.
  func append(_ data: Data) throws {
    try data.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let offset = off_t(writeOffset + written)
        let count = pwrite(descriptor, bytes.baseAddress! + written, bytes.count - written, offset)
        guard count > 0 else { throw Self.failure() }
        written += count
      }
    }
    writeOffset += data.count
  }

  /// The next bytes, and at most that many. The file takes no space when it was read to its end.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  func read(atMost limit: Int) throws -> Data {
    var data = Data(count: min(limit, unreadCount))
    let wanted = data.count
    try data.withUnsafeMutableBytes { bytes in
      var done = 0
      while done < wanted {
        let count = pread(descriptor, bytes.baseAddress! + done, wanted - done, off_t(readOffset + done))
        guard count > 0 else { throw Self.failure() }
        done += count
      }
    }
    readOffset += wanted
    if unreadCount == 0 {
      guard ftruncate(descriptor, 0) == 0 else { throw Self.failure() }
      (readOffset, writeOffset) = (0, 0)
    }
    return data
  }

  private static func failure() -> CoherenceError {
    let reason = String(cString: strerror(errno))
    return CoherenceError(
      .inputOutput,
      "The unread part of a reply's body cannot be kept in '\(FileManager.default.temporaryDirectory.path)': \(reason). "
        + "Free space there, or name another directory in TMPDIR.")
  }
}
