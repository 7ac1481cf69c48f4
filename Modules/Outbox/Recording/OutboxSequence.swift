import CoherenceCore
import Foundation
import Synchronization

/// The sequences of the entries that this process records: microseconds since 1970, each greater than all before.
///
/// The clock gives new processes greater sequences than earlier processes without a read of the store. A clock that
/// stands still or is set back does not lower the sequences of a process, and ``raise(to:)`` keeps them above those of
/// an earlier process.
final class OutboxSequence: Sendable {
  /// The sequences of this process.
  static let shared = OutboxSequence()

  private let last = Atomic<Int64>(0)

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

  /// Makes all further sequences greater than one that a store has.
  func raise(to sequence: Int64) {
    var known = last.load(ordering: .relaxed)
    while known < sequence {
      let (exchanged, original) = last.compareExchange(
        expected: known, desired: sequence, ordering: .acquiringAndReleasing)
      if exchanged { return }
      known = original
    }
  }
}
