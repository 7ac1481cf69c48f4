import CoherencePersistedActions
import TestSupport

extension ManualClock {
  /// The time as a worker takes it.
  var workerClock: PersistedActionClock { PersistedActionClock(self) { self.date } }
}
