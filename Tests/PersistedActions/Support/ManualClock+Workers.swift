import CoherencePersistedActions
import TestSupport

extension ManualClock {
  /// This clock and its date, for the initializer of a worker.
  var workerClock: PersistedActionClock { PersistedActionClock(self) { self.date } }
}
