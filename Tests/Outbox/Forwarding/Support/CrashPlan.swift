import CoherenceOutbox
import Foundation
import Synchronization

/// Ends a forwarder as a crash would, after it has reached a step a number of times.
final class CrashPlan: ForwardingSteps {
  private let step: ForwardingStep
  private let remaining: Mutex<Int>

  /// - Parameter count: The crash follows this occurrence of the step; the first occurrence is 1.
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
