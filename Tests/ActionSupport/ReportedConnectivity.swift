package import CoherenceActions
import Synchronization

/// A connectivity that counts the reports of failures, and that a report can take offline, as a probe without a reply
/// does.
package final class ReportedConnectivity: Connectivity {
  package let state = ManualConnectivity()
  private let goesOffline: Bool
  private let onReport: @Sendable () -> Void
  private let count = Mutex(0)

  /// - Parameter onReport: Called for each report, in the task that reports.
  package init(goesOffline: Bool, onReport: @escaping @Sendable () -> Void = {}) {
    self.goesOffline = goesOffline
    self.onReport = onReport
  }

  package var isOnline: Bool { state.isOnline }
  package var changes: AsyncStream<Bool> { state.changes }
  /// The number of reports.
  package var reportCount: Int { count.withLock { $0 } }

  package func noteFailure() {
    count.withLock { $0 += 1 }
    onReport()
    if goesOffline { state.isOnline = false }
  }
}
