import CoherenceCore
import Foundation
import Synchronization

/// The edits that servers have confirmed lately, of all outboxes of the process.
///
/// The acknowledgement of an edit deletes its entries, but a page requested before the acknowledgement may still be
/// merged. Confirmations protect the edit from such a page. The confirmations of the process itself are in memory, with
/// times of a monotonic clock, and live as long as the process, because its requests do too. ``SharedConfirmations``
/// has the confirmations of other processes. The number, the age and the memory of confirmations are limited; the page
/// of a request from before the oldest confirmation is merged without this protection.
final class Confirmations: Sendable {
  private struct State {
    /// The confirmations in the order of their times. The elements before the index ``first`` are expired.
    var list: [Confirmation] = []
    var first = 0
    /// The index of the oldest confirmation that still has its values over 32 KB; never less than ``first``.
    var firstWhole = 0
    /// The approximate memory of the confirmations that are not expired, in bytes.
    var memorySize = 0

    mutating func append(_ confirmation: Confirmation) {
      list.append(confirmation)
      memorySize += confirmation.memorySize
    }

    /// Expires the confirmations before a time, and the oldest confirmations beyond a number. Beyond a size of memory,
    /// the oldest confirmations first lose their values over 32 KB, and then expire too.
    mutating func forget(before time: ContinuousClock.Instant, limit: Int, memoryLimit: Int) {
      while first < list.count, list.count - first > limit || list[first].time < time { expireFirst() }
      firstWhole = max(firstWhole, first)
      while memorySize > memoryLimit, firstWhole < list.count {
        memorySize -= list[firstWhole].memorySize
        list[firstWhole].omitLargeValues()
        memorySize += list[firstWhole].memorySize
        firstWhole += 1
      }
      while memorySize > memoryLimit, first < list.count { expireFirst() }
      // Expired elements are removed only when they outnumber the limit, so that a confirmation costs constant time on
      // average.
      if first > limit { (list, first, firstWhole) = (Array(list[first...]), 0, firstWhole - first) }
    }

    /// Expires the oldest confirmation, whose element stays without its values.
    private mutating func expireFirst() {
      memorySize -= list[first].memorySize
      list[first].releaseValues()
      first += 1
    }
  }

  /// The confirmations of the process. Tests make others, with lower limits.
  static let shared = Confirmations()

  /// The identifier of the process in its records among the ``SharedConfirmations``, which its own merges skip.
  let process = UUID.random()
  /// The machine whose clock dates the ``SharedConfirmations`` of the process: processes with the same text share a
  /// clock.
  static let machine: String = {
    let boot = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return boot?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ProcessInfo.processInfo.hostName
  }()

  /// The time for which a confirmation is kept: longer than requests take.
  private static let duration = Duration.seconds(300)
  /// The greatest number of confirmations.
  private let limit: Int
  /// The greatest approximate memory of all confirmations, in bytes.
  private let memoryLimit: Int

  private let state = Mutex(State())

  init(limit: Int = 10_000, memoryLimit: Int = 32 << 20) {
    self.limit = limit
    self.memoryLimit = memoryLimit
  }

  /// Keeps confirmations. Called before the save that deletes the entries, so that a merge sees the entry, its
  /// confirmation, or both.
  func add(_ confirmations: [Confirmation]) {
    guard !confirmations.isEmpty else { return }
    state.withLock { state in
      let now = ContinuousClock.now
      for var confirmation in confirmations {
        confirmation.time = now
        state.append(confirmation)
      }
      state.forget(before: now - Self.duration, limit: limit, memoryLimit: memoryLimit)
    }
  }

  /// Whether a server has confirmed an edit since a time. Constant time, so that a merge without confirmations pays
  /// nothing.
  func hasAny(since time: ContinuousClock.Instant) -> Bool {
    state.withLock { state in state.first < state.list.count && state.list[state.list.count - 1].time >= time }
  }

  /// Returns the confirmations since a time that satisfy a condition, the newest first. The cost grows with the number
  /// of confirmations since the time.
  ///
  /// - Parameter isWanted: Called under the lock.
  func since(_ time: ContinuousClock.Instant, where isWanted: (Confirmation) -> Bool) -> [Confirmation] {
    state.withLock { state in
      Array(state.list[state.first...].reversed().prefix { $0.time >= time }.filter(isWanted))
    }
  }
}
