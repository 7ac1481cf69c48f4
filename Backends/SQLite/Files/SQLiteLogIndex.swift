import CoherenceCore
import GRDBSQLite
import Synchronization

/// The index of a database's write-ahead log, in the memory that all connections to the file share.
///
/// The format is documented: https://www.sqlite.org/walformat.html.
struct SQLiteLogIndex: Equatable, @unchecked Sendable {
  // Sendable: the memory is mapped as long as any connection of the process has the log open. It is read as SQLite's
  // own readers read it: `state` notices a simultaneous write.
  private let start: UnsafeRawPointer

  /// The size in bytes of the index's first region, which SQLite maps as a whole. The region begins with two copies of
  /// the header.
  private static let regionSize: CInt = 32_768
  private static let headerSize = 48

  /// The index of a connection's log; `nil` while the connection has no log open. A log is open once the connection has
  /// read a page.
  init?(of connection: OpaquePointer?) {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap
    else { return nil }
    var region: UnsafeMutableRawPointer?
    guard map(file, 0, Self.regionSize, 0, &region) == SQLITE_OK, let region else { return nil }
    start = UnsafeRawPointer(region)
  }

  /// The two copies of the header.
  var bytes: [UInt8] { [UInt8](UnsafeRawBufferPointer(start: start, count: 2 * Self.headerSize)) }

  /// The state that a transaction sees if it begins now; `nil` during a write of the header, and for an index of an
  /// unknown format: without a state no row is cached.
  @inline(__always) var state: SQLiteLogState? {
    // A writer begins with the second copy of the header; a reader begins with the first.
    atomicMemoryFence(ordering: .acquiring)
    let first = header(at: 0)
    atomicMemoryFence(ordering: .acquiring)
    let second = header(at: Self.headerSize)
    atomicMemoryFence(ordering: .acquiring)
    guard first == second, first.isInUse, first.hasKnownFormat else { return nil }
    return SQLiteLogState(
      commits: first.commits, frames: first.frames, checksum: first.checksum, salts: first.salts)
  }

  /// A copy of the header, as words of eight bytes. A word has neighbouring fields of the format, because two copies
  /// are compared faster by words than by fields.
  private struct Header: Equatable {
    /// The version of the format, and four unused bytes.
    let format: UInt64
    /// The counter of commits, whether the index is initialized, the byte order of checksums, and the size of a page.
    let commitsAndFlags: UInt64
    /// The number of the last frame, and the number of the database's pages.
    let frames: UInt64
    /// The checksum of all frames up to the last.
    let checksum: UInt64
    let salts: UInt64
    /// The checksum of the fields above.
    let ownChecksum: UInt64

    /// A counter that rises with each committed transaction.
    var commits: UInt32 { withUnsafeBytes(of: commitsAndFlags) { $0.load(as: UInt32.self) } }
    /// Whether a connection has initialized the index.
    var isInUse: Bool { withUnsafeBytes(of: commitsAndFlags) { $0[4] } != 0 }
    /// Whether the header has the documented version of the format.
    var hasKnownFormat: Bool { withUnsafeBytes(of: format) { $0.load(as: UInt32.self) } == 3_007_000 }
  }

  /// Reads a copy of the header.
  ///
  /// - Parameter offset: The beginning of the copy in the region, in bytes.
  @inline(__always) private func header(at offset: Int) -> Header {
    func word(_ index: Int) -> UInt64 { start.load(fromByteOffset: offset + 8 * index, as: UInt64.self) }
    return Header(
      format: word(0), commitsAndFlags: word(1), frames: word(2), checksum: word(3), salts: word(4),
      ownChecksum: word(5))
  }
}

/// A state of a database with a write-ahead log, as the header of the log's index describes it.
///
/// A reader sees the database, and the log up to a frame. The header names that frame, the checksum of all frames up to
/// it, and the salts of the log, which change whenever the log begins anew. So equal states have equal content, and as
/// long as a connection of the process has the log open, no state comes back.
struct SQLiteLogState: Hashable, Sendable {
  /// A counter that rises with each committed transaction. It is no part of the mark, because a recovery of the log
  /// sets it back.
  let commits: UInt32
  /// The last frame, and the number of the database's pages.
  fileprivate let frames: UInt64
  fileprivate let checksum: UInt64
  fileprivate let salts: UInt64

  fileprivate init(commits: UInt32, frames: UInt64, checksum: UInt64, salts: UInt64) {
    self.commits = commits
    self.frames = frames
    self.checksum = checksum
    self.salts = salts
  }

  var mark: StateMark { StateMark(frames, checksum, salts) }

  /// The number of frames in the log; a frame has a page of the database.
  var frameCount: Int { Int(withUnsafeBytes(of: frames) { $0.load(as: UInt32.self) }) }

  /// Whether it is certain that a transaction of this process, and no other commit, lies between an earlier state and
  /// this state.
  ///
  /// - Parameter hasWritten: Whether that transaction has certainly changed a page. A transaction without a change
  ///   makes no state: the next state would be that of another process's commit.
  func isNext(to former: SQLiteLogState, hasWritten: Bool) -> Bool {
    hasWritten ? commits == former.commits &+ 1 : self == former
  }
}
