import CoherenceCore
public import Foundation
import Synchronization

/// The counts and times of the work in a context. Counts are records; times are seconds.
public struct ContextStatistics: Sendable, Hashable {
  /// The number of inserted records in successful saves.
  public internal(set) var inserts = 0
  /// The number of updated records in successful saves.
  public internal(set) var updates = 0
  /// The number of deleted records in successful saves.
  public internal(set) var deletes = 0
  /// The number of fetched records, not of requests.
  public internal(set) var fetches = 0
  /// The seconds in `perform` and `performAndWait`. Nested calls count once, and a call counts when it ends.
  public internal(set) var contextBlockTime: TimeInterval = 0
  /// The seconds in fetches, including failed fetches.
  public internal(set) var fetchTime: TimeInterval = 0
  /// The seconds in saves, including failed saves.
  public internal(set) var saveTime: TimeInterval = 0
  /// The seconds in the context outside of fetches and saves; zero before the end of the first block.
  public var otherTime: TimeInterval { max(0, contextBlockTime - fetchTime - saveTime) }

  /// Adds the work of another context.
  static func += (sum: inout ContextStatistics, other: ContextStatistics) {
    sum.inserts += other.inserts
    sum.updates += other.updates
    sum.deletes += other.deletes
    sum.fetches += other.fetches
    sum.contextBlockTime += other.contextBlockTime
    sum.fetchTime += other.fetchTime
    sum.saveTime += other.saveTime
  }
}

extension ContextStatistics: CustomStringConvertible {
  public var description: String {
    """
    {
      blockTime: \(seconds(contextBlockTime))
      saveTime: \(seconds(saveTime)) { inserts: \(inserts), updates: \(updates), deletes: \(deletes) }
      fetchTime: \(seconds(fetchTime)) { fetches: \(fetches) }
      otherTime: \(seconds(otherTime))
    }
    """
  }
}

/// A number of seconds with four decimals.
func seconds(_ interval: TimeInterval) -> String { String(format: "%.4f", interval) }

/// Counts the work in one context.
final class ContextActivityCounter: ContextActivityObserver {
  private let counts = Mutex(ContextStatistics())

  var statistics: ContextStatistics { counts.withLock { $0 } }

  /// Adds the counts of a released context, so that an action with many attempts keeps one counter for all of them.
  func add(_ statistics: ContextStatistics) { counts.withLock { $0 += statistics } }

  func contextDid(_ activity: ContextActivity, in duration: Duration) {
    let time = duration / .seconds(1)
    counts.withLock { counts in
      switch activity {
      case .block: counts.contextBlockTime += time
      case .fetch(let records):
        counts.fetchTime += time
        counts.fetches += records
      case .save(let inserted, let updated, let deleted):
        counts.saveTime += time
        counts.inserts += inserted
        counts.updates += updated
        counts.deletes += deleted
      }
    }
  }
}
