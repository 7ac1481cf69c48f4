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

  /// Saves a heartbeat and the unstored progress of the running actions, and cancels the actions that the store no
  /// longer leaves to this worker. The next heartbeat repeats the failed parts.
  private func beat() async {
    // The worker may have become idle and deleted its record since the end of the sleep; a heartbeat would insert the
    // record again.
    guard outstanding > 0 else { return }
    // A store that fails keeps the worker from no work in the other stores.
    var failure: (any Error)?
    do {
      try await repository.beat(at: clock.date())
      counters.withLock { $0.beats += 1 }
    } catch {
      failure = error
    }
    do { try await cancelActionsByRecord() } catch { failure = failure ?? error }
    do { try await storeProgress() } catch { failure = failure ?? error }
    if let failure { log("A heartbeat could not be saved; the worker tries again.", failure) }
  }

  /// Saves the unstored progress of the running actions, in one store after the other.
  ///
  /// - Throws: The first error of a store.
  private func storeProgress() async throws {
    let unstored = running.values.compactMap { action in
      action.context.unstoredProgress.map { (claim: action.claim, context: action.context, progress: $0) }
    }
    var failure: (any Error)?
    for group in Dictionary(grouping: unstored, by: { $0.claim.recordID.storeIdentifier }).values {
      do {
        try await repository.store(group.map { (claim: $0.claim, progress: $0.progress) })
        for entry in group { entry.context.noteStored(entry.progress) }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Cancels the running actions whose cancellation was requested. Called at the signal of a request, so that the
  /// request does not wait for the next heartbeat.
  func checkCancellations() async {
    guard !running.isEmpty else { return }
    do {
      try await cancelActionsByRecord()
    } catch {
      log("Requests to cancel could not be read; the next heartbeat reads them.", error)
    }
  }

  /// Cancels the running actions that another worker has taken over, or whose cancellation was requested, by the
  /// records in the stores. A store that fails keeps no action of the other stores from its cancellation.
  ///
  /// - Throws: The first error of a store.
  private func cancelActionsByRecord() async throws {
    // Only actions that ran before the read: the read may miss a later claim, which would look like a lost lease.
    let claimsBeforeRead = running.values.map(\.claim)
    var failure: (any Error)?
    for (store, claims) in Dictionary(grouping: claimsBeforeRead, by: \.recordID.storeIdentifier) {
      let storedActions: [ManagedObjectID: OwnAction]
      do {
        storedActions = Dictionary(
          try await repository.ownActions(in: store).map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
      } catch {
        failure = failure ?? error
        continue
      }
      for claim in claims {
        // The attempt may have ended during the read. An action after its commit has no running record any more.
        guard let action = running[claim.id], action.context.commitEvent == nil else { continue }
        let stored = storedActions[claim.recordID]
        if stored?.lease != claim.lease || stored?.isCancelRequested == true { action.cancel() }
      }
    }
    if let failure { throw failure }
  }
}
