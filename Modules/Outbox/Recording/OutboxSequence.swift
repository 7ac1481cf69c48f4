import CoherenceCore
import Foundation
import Synchronization

/// The generator of the sequences of the entries that this process records: microseconds since 1970, strictly
/// ascending.
///
/// The clock gives a new process greater sequences than earlier processes had, without a read of the store. A clock
/// that stands still or is set back does not lower the sequences of a process, and ``raise(to:)`` keeps them above
/// those of an earlier process.
final class OutboxSequence: Sendable {
  /// The only generator of this process, for all its outboxes.
  static let shared = OutboxSequence()

  private let last = Atomic<Int64>(0)
  /// A time in the year 128,000. Sequences below this limit cannot overflow.
  private static let limit: Int64 = 4_000_000_000_000_000_000

  /// Reserves consecutive sequences.
  ///
  /// - Parameter date: The present time.
  func reserve(_ count: Int, at date: Date) -> Range<Int64> {
    let now = Timestamp(date)?.microseconds ?? 0
    var known = last.load(ordering: .relaxed)
    while true {
      let first = max(known + 1, now)
      let end = first + Int64(max(1, count))
      let (exchanged, original) = last.compareExchange(
        expected: known, desired: end - 1, ordering: .acquiringAndReleasing)
      if exchanged { return first..<end }
      known = original
    }
  }

  /// Makes all further sequences greater than a sequence that a store has. A sequence above the limit is damaged data,
  /// and is ignored.
  func raise(to sequence: Int64) {
    guard sequence < Self.limit else { return }
    var known = last.load(ordering: .relaxed)
    while known < sequence {
      let (exchanged, original) = last.compareExchange(
        expected: known, desired: sequence, ordering: .acquiringAndReleasing)
      if exchanged { return }
      known = original
    }
  }
}
