import CoherenceCore
import Foundation

/// The entries that a search of a forwarder leaves to later searches.
struct ForwardBacklog: Sendable {
  /// The earliest future attempt of a pending entry; `nil` without such an entry.
  var nextAttempt: Date?
  /// The earliest end of a claim of another forwarder; `nil` without such a claim.
  var nextLeaseEnd: Date?
  /// Whether an entry exists that this forwarder has not claimed. The settlement of another edit may make such an entry
  /// ready.
  var hasWaitingEntries = true
  /// The numbers of all entries by state, claimed entries included; `nil` when the search did not read all entries.
  var counts: OutboxCounts?

  /// The date of the next search; `nil` when only a message asks for a search.
  var nextDue: Date? { [nextAttempt, nextLeaseEnd].compactMap { $0 }.min() }
}

extension ForwardBacklog {
  /// Makes the backlog of a search. The search must have read all entries.
  ///
  /// - Parameters:
  ///   - nodes: All entries, as they were before the claims of the search.
  ///   - steps: The edits that this forwarder has claimed, in this and in earlier searches.
  ///   - options: The longest delay of an attempt, and the longest time until the end of a claim.
  init(of nodes: [OutboxNode], besides steps: [OutboxStep], at now: Date, _ options: ForwardOptions) {
    let heads = Set(steps.map(\.head.id))
    let claimed = Set(steps.flatMap(\.entries).map(\.id))
    let latest = now.addingTimeInterval(options.longestDelay / .seconds(1))
    let latestLeaseEnd = now.addingTimeInterval(options.longestLease / .seconds(1))
    var counts = OutboxCounts()
    hasWaitingEntries = false
    for node in nodes {
      if !claimed.contains(node.id) { hasWaitingEntries = true }
      switch heads.contains(node.id) ? .sending : node.facts.state {
      case .pending:
        counts.pending += 1
        if node.nextAttempt > now { nextAttempt = min(nextAttempt ?? latest, node.nextAttempt) }
      case .sending:
        counts.sending += 1
        guard !heads.contains(node.id), node.isClaimed(at: now, until: .distantFuture), let lease = node.lease else {
          continue
        }
        nextLeaseEnd = min(nextLeaseEnd ?? latestLeaseEnd, lease)
      case .parked: counts.parked += 1
      }
    }
    self.counts = counts
  }

  /// Counts the first entries of claimed edits as on their way.
  mutating func claim(_ steps: [OutboxStep]) {
    counts?.pending -= steps.count
    counts?.sending += steps.count
  }

  /// Postpones the next attempt to the end of the delay during which a circuit breaker holds edits back.
  ///
  /// - Parameter holdsBack: Whether the breaker holds back an edit that is due.
  mutating func postpone(until end: Date, holdsBack: Bool) {
    if holdsBack || nextAttempt.map({ $0 < end }) ?? false { nextAttempt = end }
  }

  /// Subtracts the entries of an accepted edit from the numbers.
  mutating func remove(_ step: OutboxStep) {
    counts?.sending -= 1
    counts?.pending -= step.entries.count - 1
  }
}
