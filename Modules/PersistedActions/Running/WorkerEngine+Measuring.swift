import CoherenceCore

// The numbers of actions, which a worker reports to the observer of the stack.

extension WorkerEngine {
  private static let measuringInterval = Duration.seconds(10)

  /// Reports the numbers if the last claimed action has ended.
  func measureWhenIdle() async {
    if outstanding == 0 { await measure() }
  }

  /// Reports the numbers if the last report is long ago.
  func measureIfDue() async {
    if let lastMeasurement, clock.elapsed() - lastMeasurement < Self.measuringInterval { return }
    await measure()
  }

  /// Reports the numbers. Without an observer nothing is counted.
  func measure() async {
    let coordinator = ledger.coordinator
    guard coordinator.isObserved else { return }
    lastMeasurement = clock.elapsed()
    // A failure of the store shows itself in the next look.
    guard let counts = try? await ledger.inContext({ try PersistedActionRecord.counts(in: $0) }) else { return }
    for state in [PersistedActionState.scheduled, .waiting, .running, .parked] {
      coordinator.report(StackGauge("persistedActions", state: state.rawValue, counts[state] ?? 0))
    }
  }
}
