import Synchronization

/// The edits of all outboxes of the process that servers have confirmed lately.
///
/// The entry of an edit is gone after its acknowledgement, while a page that was requested before may still be merged. A
/// request does not outlive its process, and neither do the confirmations. Their number and age are bounded; a page of an
/// earlier request is merged as it is.
final class Confirmations: Sendable {
  private struct State {
    /// The confirmations in the order of their times; those before ``first`` were forgotten.
    var list: [Confirmation] = []
    var first = 0

    mutating func forget(before time: ContinuousClock.Instant, limit: Int) {
      while first < list.count, list.count - first > limit || list[first].time < time { first += 1 }
      // Moved rarely, so that each confirmation costs the same.
      if first > limit { (list, first) = (Array(list[first...]), 0) }
    }
  }

  static let shared = Confirmations()

  /// The time for which a confirmation is remembered: longer than requests take.
  private static let duration = Duration.seconds(300)
  private static let limit = 10_000

  private let state = Mutex(State())

  /// Remembers confirmations. Called before the save that removes the entries, so that a merge that does not see an entry
  /// any more sees its confirmation.
  func add(_ confirmations: [Confirmation]) {
    guard !confirmations.isEmpty else { return }
    state.withLock { state in
      let now = ContinuousClock.now
      for var confirmation in confirmations {
        confirmation.time = now
        state.list.append(confirmation)
      }
      state.forget(before: now - Self.duration, limit: Self.limit)
    }
  }

  /// The wanted confirmations since a time. The cost grows with the number of confirmations since then.
  ///
  /// - Parameter isWanted: Called under the lock.
  func since(_ time: ContinuousClock.Instant, where isWanted: (Confirmation) -> Bool) -> [Confirmation] {
    state.withLock { state in
      Array(state.list[state.first...].reversed().prefix { $0.time >= time }.filter(isWanted))
    }
  }
}
