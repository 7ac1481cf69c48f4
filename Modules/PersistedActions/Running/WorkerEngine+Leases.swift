import CoherenceCore
import Foundation
import Synchronization

// The worker's heartbeats, and the requests to cancel its actions.

extension WorkerEngine {
  /// Sends heartbeats until the worker is idle.
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
      try await repository.beat(at: clock.date())
      counters.withLock { $0.beats += 1 }
      try await checkOwnActions()
      let unstored = running.values.compactMap { action in
        action.context.takeUnstoredProgress().map { (claim: action.claim, progress: $0) }
      }
      if !unstored.isEmpty { try await repository.store(unstored) }
    } catch {
      log("A heartbeat could not be saved; the worker tries again.", error)
    }
  }

  /// Cancels the running actions whose cancellation was requested.
  func checkCancellations() async {
    guard !running.isEmpty else { return }
    do {
      try await checkOwnActions()
    } catch {
      log("Requests to cancel could not be read; the next heartbeat reads them.", error)
    }
  }

  /// Cancels the running actions that another worker has taken over, or whose cancellation was requested.
  private func checkOwnActions() async throws {
    // Only actions that ran before the read: the read may miss a later claim, which would look like a lost lease.
    let claimsBeforeRead = running.values.map(\.claim)
    let storedActions = Dictionary(
      try await repository.ownActions().map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
    for claim in claimsBeforeRead {
      guard let action = running[claim.id], action.context.commitEvent == nil else { continue }
      let stored = storedActions[claim.recordID]
      if stored?.lease != claim.lease || stored?.isCancelRequested == true { action.cancel() }
    }
  }
}
