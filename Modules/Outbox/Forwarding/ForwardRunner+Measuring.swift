import CoherenceCore

extension ForwardRunner {
  private static let measuringInterval = Duration.seconds(10)

  /// Reports the numbers of entries to the observer of the stack: when nothing is being sent, and at intervals meanwhile.
  /// Without an observer nothing is counted.
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

  /// The numbers of entries as the last search has found them, or else as the stores count them.
  private func currentCounts() async -> OutboxCounts? {
    if !isPaused, let counts = rest.counts { return counts }
    // A failure of the store shows itself in the next search.
    return try? await outbox.counts()
  }
}
