import CoherenceCore

// The numbers of actions, which a worker reports to the observer of the stack.

extension WorkerEngine {
  private static let measuringInterval = Duration.seconds(10)
  /// The reported states. An idle worker measures after each action, so that it does not count the succeeded and
  /// cancelled actions, of which the store may retain any number.
  private static let measuredStates: [PersistedActionState] = [.scheduled, .waiting, .running, .parked]

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
    // No worker of the container runs the actions of read-only stores. The next round reports a failure of the store.
    let counts = try? await repository.inContext { context in
      try PersistedActionRecord.counts(
        of: Self.measuredStates, among: ActionRepository.Records().inWritableStores(), in: context)
    }
    guard let counts else { return }
    for state in Self.measuredStates {
      coordinator.report(StackGauge("persistedActions", state: state.rawValue, counts[state] ?? 0))
    }
  }
}
