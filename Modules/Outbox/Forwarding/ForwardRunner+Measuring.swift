import CoherenceCore

extension ForwardRunner {
  private static let measuringInterval = Duration.seconds(10)

  /// Reports the numbers of entries to the observer of the stack if the numbers may have changed: at once when no edit
  /// is on its way, and otherwise at most every ten seconds. Counts nothing without an observer.
  func measureIfDue() async {
    guard needsMeasurement, outbox.coordinator.isObserved else { return }
    let now = ContinuousClock.now
    guard flights.isEmpty || lastMeasurement.map({ now - $0 >= Self.measuringInterval }) ?? true else { return }
    needsMeasurement = false
    lastMeasurement = now
    guard let counts = await currentCounts() else { return }
    for (state, count) in [("pending", counts.pending), ("sending", counts.sending), ("parked", counts.parked)] {
      outbox.coordinator.report(StackGauge("outbox.entries", state: state, count))
    }
  }

  /// The numbers of entries that the last search has counted, or else a count by the stores.
  private func currentCounts() async -> OutboxCounts? {
    if !isPaused, let counts = backlog.counts { return counts }
    // An error is ignored, because the next search reports a failure of the store.
    return try? await outbox.counts()
  }
}
