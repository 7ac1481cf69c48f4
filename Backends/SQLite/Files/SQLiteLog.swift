import CoherenceCore
import Foundation

/// The write-ahead log of a database, read as by a process that recovers it.
///
/// The format is documented: https://www.sqlite.org/walformat.html. Reading needs no space on the disk, so that it
/// works when no write succeeds any more.
struct SQLiteLog {
  /// The content of the log, on the disk or in the system's buffers.
  private let log: [UInt8]
  /// The header of the log's index, by which the processes with the database open read.
  private let index: [UInt8]

  /// Reads the log of a connection that holds the right to write, so that no other connection writes.
  ///
  /// - Throws: ``ErrorCode/inputOutput`` when the log cannot be read.
  init(of connection: OpaquePointer?, path: String) throws {
    guard let index = Self.indexHeader(connection) else {
      throw CoherenceError(.inputOutput, "The index of the log of '\(path)' cannot be read.")
    }
    guard let log = FileManager.default.contents(atPath: path + "-wal") else {
      throw CoherenceError(.inputOutput, "'\(path)-wal' cannot be read.")
    }
    self.index = index
    self.log = [UInt8](log)
  }

  /// Whether the log has a complete transaction that its index does not include.
  var hasUnseenCommit: Bool {
    guard log.count >= Self.headerSize else { return false }
    // A log with other salts is already in the database, and was not begun anew.
    guard log[16..<24].elementsEqual(index[32..<40]) else { return false }
    let seen = index.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: UInt32.self) }
    return lastCommit > Int(seen)
  }

  /// The header of the index, from the memory that the connection shares with others. The file itself is not opened:
  /// its close would release the locks of this process on it.
  private static func indexHeader(_ connection: OpaquePointer?) -> [UInt8]? {
    guard let bytes = SQLiteLogIndex(of: connection)?.bytes else { return nil }
    // Two copies, which differ during a write.
    return bytes[0..<48].elementsEqual(bytes[48..<96]) ? bytes : nil
  }

  // MARK: Frames

  private static let headerSize = 32
  private static let frameHeaderSize = 24

  /// The number of the last complete frame that ends a transaction; zero for none.
  private var lastCommit: Int {
    let magic = Self.number(log, 0)
    guard magic & ~1 == 0x377F_0682 else { return 0 }
    var checksum = Checksum(isBigEndian: magic & 1 == 1)
    let pageSize = Int(Self.number(log, 8))
    // SQLite reads no log with a page size that is no power of two, and the checksum reads eight bytes at a time.
    guard pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0 else { return 0 }
    checksum.add(log[0..<24])
    guard checksum.matches(log, 24) else { return 0 }
    var (frame, last) = (1, 0)
    var start = Self.headerSize
    while start + Self.frameHeaderSize + pageSize <= log.count {
      checksum.add(log[start..<start + 8])
      checksum.add(log[start + Self.frameHeaderSize..<start + Self.frameHeaderSize + pageSize])
      guard log[start + 8..<start + 16].elementsEqual(log[16..<24]), checksum.matches(log, start + 16) else { break }
      if Self.number(log, start + 4) != 0 { last = frame }
      frame += 1
      start += Self.frameHeaderSize + pageSize
    }
    return last
  }

  fileprivate static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The checksum of everything before, as the log keeps it with each frame.
  private struct Checksum {
    let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      bytes.withUnsafeBytes { buffer in
        for offset in stride(from: 0, to: buffer.count, by: 8) {
          first = first &+ word(buffer, offset) &+ second
          second = second &+ word(buffer, offset + 4) &+ first
        }
      }
    }

    private func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
      let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }

    func matches(_ bytes: [UInt8], _ offset: Int) -> Bool {
      first == SQLiteLog.number(bytes, offset) && second == SQLiteLog.number(bytes, offset + 4)
    }
  }
}
