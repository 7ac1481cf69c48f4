import CoherenceOutbox
import Foundation
import Synchronization

/// Ends a forwarder when a step was reached a number of times.
final class CrashPlan: ForwardingSteps {
  private let step: ForwardingStep
  private let remaining: Mutex<Int>

  /// - Parameter count: The number of times that the step is reached before the crash; the first is 1.
  init(at step: ForwardingStep, count: Int = 1) {
    self.step = step
    remaining = Mutex(count)
  }

  func reached(_ step: ForwardingStep, _ key: UUID) -> Bool {
    guard step == self.step else { return true }
    return remaining.withLock { remaining in
      remaining -= 1
      return remaining != 0
    }
  }
}
