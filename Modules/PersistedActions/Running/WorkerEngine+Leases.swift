import CoherenceCore
import Foundation
import Synchronization

// The worker's signs of life, and the requests to cancel its actions.

extension WorkerEngine {
  /// Gives signs of life from now on, until the worker is idle.
  func startBeating() {
    guard beating == nil else { return }
    beating = Task { [weak self, clock, interval = options.leaseLength / 3] in
      while (try? await clock.sleep(interval)) != nil {
        guard let self else { return }
        await self.beat()
      }
    }
  }

  private func beat() async {
    guard outstanding > 0 else { return }
    do {
      try await ledger.beat(at: clock.date())
      counters.withLock { $0.beats += 1 }
      try await checkOwnActions()
      let unstored = running.values.compactMap { action in
        action.context.takeUnstoredProgress().map { (claim: action.claim, progress: $0) }
      }
      if !unstored.isEmpty { try await ledger.store(unstored) }
    } catch {
      log("A sign of life could not be saved; the worker tries again.", error)
    }
  }

  /// Cancels the running actions whose cancellation was requested.
  func checkCancellations() async {
    guard !running.isEmpty else { return }
    do {
      try await checkOwnActions()
    } catch {
      log("Requests to cancel could not be read; the next sign of life reads them.", error)
    }
  }

  /// Cancels the running actions that were taken over, or whose cancellation was requested.
  private func checkOwnActions() async throws {
    // The actions that were running before the read: an action that is claimed during the read may be missing in it.
    let known = running.values.map(\.claim)
    let own = Dictionary(
      try await ledger.ownActions().map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
    for claim in known {
      guard let action = running[claim.id], action.context.committed == nil else { continue }
      let stored = own[claim.recordID]
      if stored?.lease != claim.lease || stored?.isCancelRequested == true { action.cancel() }
    }
  }
}
