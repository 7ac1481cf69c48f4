import CoherenceCore

// The numbers of actions, which a worker reports to the observer of the stack.

extension WorkerEngine {
  private static let measuringInterval = Duration.seconds(10)

  /// Reports the numbers if the worker has no claimed action.
  func measureWhenIdle() async {
    if outstanding == 0 { await measure() }
  }

  /// Reports the numbers if the interval since the last report has passed.
  func measureIfDue() async {
    if let lastMeasurement, clock.elapsed() - lastMeasurement < Self.measuringInterval { return }
    await measure()
  }

  /// Reports the numbers. Costs nothing without an observer.
  func measure() async {
    let coordinator = repository.coordinator
    guard coordinator.isObserved else { return }
    lastMeasurement = clock.elapsed()
    // The next round reports a failure of the store.
    guard let counts = try? await repository.inContext({ try PersistedActionRecord.counts(in: $0) }) else { return }
    for state in [PersistedActionState.scheduled, .waiting, .running, .parked] {
      coordinator.report(StackGauge("persistedActions", state: state.rawValue, counts[state] ?? 0))
    }
  }
}
