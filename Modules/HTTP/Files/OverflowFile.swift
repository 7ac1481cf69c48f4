import CoherenceCore
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The bytes of a ``BodyBuffer`` beyond its memory, as a queue in unnamed files. The system deletes a file with its
/// descriptor, even when the process is killed. Used under the lock of the buffer.
///
/// The reader of an endless body, such as a stream of events, may always be behind, and would never empty a single file.
/// So the queue continues in a second file after the reader has read many bytes of the first file, and the first file is
/// emptied when all of its bytes are read. No byte is moved: under the lock, the copy of a long unread part would stop the
/// transfer. The files need about twice the size of the longest unread part.
final class OverflowFile {
  private let directory: URL
  /// The file with the oldest unread bytes; without unread bytes, the queue is empty.
  private var first: Part
  /// The file of the bytes after those in the first file; `nil` until it is needed.
  private var second: Part?

  /// The number of read bytes in the first file above which further bytes belong to the second file.
  private static let greatestReadCount = 1 << 24

  /// Makes an empty queue in a directory.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  init(in directory: URL) throws {
    self.directory = directory
    first = try Part(in: directory)
  }

  /// The number of unread bytes.
  var unreadCount: Int { first.unreadCount + (second?.unreadCount ?? 0) }
  /// The number of bytes in the files, read ones included.
  var size: Int { first.size + (second?.size ?? 0) }

  /// Appends bytes.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  func append(_ data: Data) throws {
    // Bytes behind those of the second file: the order would be lost in the first file.
    guard second?.unreadCount ?? 0 > 0 || first.readCount > Self.greatestReadCount else {
      return try first.append(data)
    }
    let part = try second ?? Part(in: directory)
    second = part
    try part.append(data)
  }

  /// Reads and removes the next bytes, up to a number. Reading to the end of a file empties it.
  ///
  /// - Throws: ``ErrorCode/inputOutput``.
  func read(atMost limit: Int) throws -> Data {
    let data = try first.read(atMost: limit)
    if first.unreadCount == 0 {
      try first.removeAll()
      if let next = second, next.unreadCount > 0 { (first, second) = (next, first) }
    }
    return data
  }
}

/// An unnamed file, to which bytes are appended and from which they are read in their order.
private final class Part {
  private let descriptor: Int32
  private let directory: URL
  /// The number of read bytes.
  private(set) var readCount = 0
  /// The number of bytes, read ones included.
  private(set) var size = 0

  init(in directory: URL) throws {
    self.directory = directory
    let path = directory.appendingPathComponent(".\(UUID().uuidString)").path
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(in: directory) }
    unlink(path)
  }

  deinit { close(descriptor) }

  var unreadCount: Int { size - readCount }

  func append(_ data: Data) throws {
    try data.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let offset = off_t(size + written)
        let count = pwrite(descriptor, bytes.baseAddress! + written, bytes.count - written, offset)
        guard count > 0 else { throw Self.failure(in: directory) }
        written += count
      }
    }
    size += data.count
  }

  func read(atMost limit: Int) throws -> Data {
    let wanted = min(limit, unreadCount)
    var data = Data(count: wanted)
    try data.withUnsafeMutableBytes { bytes in
      var done = 0
      while done < wanted {
        let count = pread(descriptor, bytes.baseAddress! + done, wanted - done, off_t(readCount + done))
        guard count > 0 else { throw Self.failure(in: directory) }
        done += count
      }
    }
    readCount += wanted
    return data
  }

  func removeAll() throws {
    guard ftruncate(descriptor, 0) == 0 else { throw Self.failure(in: directory) }
    (readCount, size) = (0, 0)
  }

  private static func failure(in directory: URL) -> CoherenceError {
    let reason = String(cString: strerror(errno))
    return CoherenceError(
      .inputOutput,
      "The unread part of a reply's body cannot be kept in '\(directory.path)': \(reason). "
        + "Free space there, or name another directory in TMPDIR.")
  }
}
