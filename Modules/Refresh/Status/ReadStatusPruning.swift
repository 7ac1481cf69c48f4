import Foundation
import Synchronization

/// Decides when the old statuses of an entity's reads are deleted: after every hundredth new status, and at most once
/// an hour after a deletion of all old statuses.
///
/// A program reads the keys that its users name, and each key has a status. Without deletions, the statuses would grow in
/// number without bound. The count begins at random, because a program that is started often may read few new keys in
/// each run.
final class ReadStatusPruning: Sendable {
  private struct State {
    /// The number of new statuses since the last deletion began, or a random number before the first one.
    var newCount = Int.random(in: 0..<ReadStatusPruning.interval)
    /// The time of the last deletion of all old statuses.
    var lastEnd: Date?
  }

  private static let interval = 100
  private static let pause: TimeInterval = 3600

  /// The states by the names of the entities.
  private let states = Mutex<[String: State]>([:])

  /// Counts a new status.
  ///
  /// - Returns: Whether the caller has to delete old statuses.
  func noteNewStatus(of entityName: String, at now: Date) -> Bool {
    states.withLock { states in
      var state = states[entityName] ?? State()
      defer { states[entityName] = state }
      state.newCount += 1
      guard state.newCount >= Self.interval else { return false }
      // After the clock was set back, the last deletion is in the future.
      if let last = state.lastEnd, last <= now, now.timeIntervalSince(last) < Self.pause { return false }
      state.newCount = 0
      return true
    }
  }

  /// Notes a deletion of all old statuses, as opposed to a deletion that ended at its limit.
  func noteEnd(of entityName: String, at now: Date) {
    states.withLock { $0[entityName, default: State()].lastEnd = now }
  }
}
