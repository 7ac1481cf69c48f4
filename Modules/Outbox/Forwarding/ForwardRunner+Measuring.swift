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
    // A failure of the store shows itself in the next search.
    guard let counts = try? await outbox.counts() else { return }
    for (state, count) in [("pending", counts.pending), ("sending", counts.sending), ("parked", counts.parked)] {
      outbox.coordinator.report(StackGauge("outbox.entries", state: state, count))
    }
  }
}
