import Foundation
import GRDBSQLite

/// The waits of a connection for the locks that other processes have on the file.
///
/// SQLite's own wait does not end with the cancellation of the task. It also sleeps for up to a tenth of a second
/// between two attempts, and a process that saves all the time takes the lock again in each of these pauses.
///
/// Used by the thread that uses the connection.
final class SQLiteBusyWait {
  /// The longest wait.
  var limit: Duration
  /// Whether a wait ends when the task is cancelled.
  var endsByCancellation = true
  /// The end of the present wait.
  private var deadline = ContinuousClock.now

  init(limit: Duration) { self.limit = limit }

  /// Makes SQLite call this object for each wait of a connection. The user of the connection retains the object,
  /// because SQLite does not.
  func install(in handle: OpaquePointer) {
    sqlite3_busy_handler(
      handle,
      { context, attemptCount in
        guard let context else { return 0 }
        // Safety of `Unmanaged`: the user of the connection retains the object.
        return Unmanaged<SQLiteBusyWait>.fromOpaque(context).takeUnretainedValue().pause(after: attemptCount) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Waits for a time before the next attempt.
  ///
  /// - Parameter attemptCount: The number of the earlier pauses of the same wait.
  /// - Returns: `false`, at once, when the wait has to end.
  private func pause(after attemptCount: CInt) -> Bool {
    let now = ContinuousClock.now
    if attemptCount == 0 { deadline = now + limit }
    if now >= deadline || (endsByCancellation && Task.isCancelled) { return false }
    // A random time, so that the attempts do not meet the saves of another process again and again.
    let longest = min(0.001 * Double(attemptCount + 1), 0.01)
    Thread.sleep(forTimeInterval: min((deadline - now) / .seconds(1), .random(in: longest / 2...longest)))
    return true
  }
}
