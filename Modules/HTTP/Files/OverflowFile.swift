import CoherenceCore
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A queue of bytes in an unnamed file. The system deletes the file with its descriptor, even when the process is killed.
final class OverflowFile {
  private let descriptor: Int32
  private let directory: URL
  private var readOffset = 0
  private var writeOffset = 0

  /// Makes an empty file in a directory.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  init(in directory: URL) throws {
    self.directory = directory
    let path = directory.appendingPathComponent(".\(UUID().uuidString)").path
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(in: directory) }
    unlink(path)
  }

  deinit { close(descriptor) }

  /// The number of unread bytes.
  var unreadCount: Int { writeOffset - readOffset }

  /// Appends bytes.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  func append(_ data: Data) throws {
    try data.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let offset = off_t(writeOffset + written)
        let count = pwrite(descriptor, bytes.baseAddress! + written, bytes.count - written, offset)
        guard count > 0 else { throw Self.failure(in: directory) }
        written += count
      }
    }
    writeOffset += data.count
  }

  /// Reads and removes the next bytes, up to a number. Reading to the end empties the file.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  func read(atMost limit: Int) throws -> Data {
    var data = Data(count: min(limit, unreadCount))
    let wanted = data.count
    try data.withUnsafeMutableBytes { bytes in
      var done = 0
      while done < wanted {
        let count = pread(descriptor, bytes.baseAddress! + done, wanted - done, off_t(readOffset + done))
        guard count > 0 else { throw Self.failure(in: directory) }
        done += count
      }
    }
    readOffset += wanted
    if unreadCount == 0 {
      guard ftruncate(descriptor, 0) == 0 else { throw Self.failure(in: directory) }
      (readOffset, writeOffset) = (0, 0)
    }
    return data
  }

  private static func failure(in directory: URL) -> CoherenceError {
    let reason = String(cString: strerror(errno))
    return CoherenceError(
      .inputOutput,
      "The unread part of a reply's body cannot be kept in '\(directory.path)': \(reason). "
        + "Free space there, or name another directory in TMPDIR.")
  }
}
