import Foundation
import GRDBSQLite
import Synchronization

/// A disk between SQLite and the file system, for the databases in one directory.
///
/// It records writes and syncs in order, fails calls on demand, and reconstructs the files that a power failure after
/// any of these operations could leave.
final class Disk: Sendable {
  /// The calls that a disk can fail.
  enum Call: String, Sendable, CaseIterable, Codable { case read, write, sync, truncate }

  /// An entry of the diary.
  enum Change: Sendable {
    case write(offset: Int, bytes: [UInt8])
    case truncate(Int)
    case delete
    /// Every earlier write to the file is durable.
    case sync
  }

  /// The calls that fail: the call with a number, counted from the setting of the fault, and optionally all later
  /// calls.
  struct Fault: Sendable {
    var call: Call
    var number: Int
    var isLasting: Bool
    /// The result code that SQLite receives.
    var code: CInt
  }

  private struct State {
    var diary: [(file: String, change: Change)] = []
    /// The length of the diary at the acknowledgement of each save.
    var acknowledged: [Int] = []
    var fault: Fault?
    var calls = 0
    var failures = 0
    var syncs = 0
  }

  private let directory: String
  private let state = Mutex(State())

  /// Puts the disk between SQLite and the databases that a test opens in a directory afterwards.
  init(_ directory: TemporaryDirectory) {
    self.directory = directory.path
    DiskVFS.insert(self, at: self.directory)
  }

  deinit { DiskVFS.remove(directory) }

  // MARK: Diary

  func acknowledge() { state.withLock { $0.acknowledged.append($0.diary.count) } }

  /// The number of successful syncs.
  var syncs: Int { state.withLock { $0.syncs } }

  /// The number of entries in the diary.
  var length: Int { state.withLock { $0.diary.count } }

  /// The number of saves acknowledged before an entry of the diary.
  func acknowledgements(before entry: Int) -> Int { state.withLock { $0.acknowledged.count { $0 <= entry } } }

  func diary(before entry: Int) -> [(file: String, change: Change)] { state.withLock { Array($0.diary.prefix(entry)) } }

  // MARK: Faults

  /// Sets the fault of later calls; `nil` for none.
  func fail(_ fault: Fault?) {
    state.withLock {
      $0.fault = fault
      $0.calls = 0
      $0.failures = 0
    }
  }

  /// The number of failed calls since the fault was set.
  var failures: Int { state.withLock { $0.failures } }

  /// Makes a call and records its change, unless the fault makes the call fail.
  func make(_ call: Call, on file: String, _ change: Change?, _ body: () -> CInt) -> CInt {
    state.withLock { state in
      if let fault = state.fault, fault.call == call {
        state.calls += 1
        if state.calls == fault.number || (fault.isLasting && state.calls > fault.number) {
          state.failures += 1
          return fault.code
        }
      }
      let result = body()
      guard result == SQLITE_OK else { return result }
      if let change { state.diary.append((file, change)) }
      if call == .sync { state.syncs += 1 }
      return result
    }
  }

  func noteDelete(of file: String) { state.withLock { $0.diary.append((file, .delete)) } }
}
