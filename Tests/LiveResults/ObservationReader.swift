import Observation
import Synchronization

/// Counts the notifications of a reader of observed values.
final class ObservationReader: Sendable {
  private let count = Mutex(0)
  var notifications: Int { count.withLock { $0 } }

  /// Reads values, and has the next change of a read value counted.
  @MainActor func follow(_ read: @escaping @MainActor () -> Void) {
    withObservationTracking {
      read()
    } onChange: { [self] in
      count.withLock { $0 += 1 }
    }
  }
}
