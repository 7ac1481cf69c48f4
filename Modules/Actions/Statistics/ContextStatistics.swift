import CoherenceCore
public import Foundation
import Synchronization

/// What an action did in its context.
public struct ContextStatistics: Sendable, Hashable {
  /// The records saved for the first time.
  public internal(set) var inserts = 0
  public internal(set) var updates = 0
  public internal(set) var deletes = 0
  /// Records, not requests.
  public internal(set) var fetches = 0
  /// Seconds in `perform` and `performAndWait`, nested calls counted once.
  public internal(set) var contextBlockTime: TimeInterval = 0
  /// Seconds in fetches, failed ones too.
  public internal(set) var fetchTime: TimeInterval = 0
  /// Seconds in saves, failed ones too.
  public internal(set) var saveTime: TimeInterval = 0
  /// Seconds in the context spent neither fetching nor saving.
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

func seconds(_ interval: TimeInterval) -> String { String(format: "%.4f", interval) }

/// Counts what one context does.
final class ContextActivityCounter: ContextActivityObserver {
  private let counts = Mutex(ContextStatistics())

  var statistics: ContextStatistics { counts.withLock { $0 } }

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
