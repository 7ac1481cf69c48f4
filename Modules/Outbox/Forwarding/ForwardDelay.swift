import CoherenceCore
import Foundation

/// The delay between a failed attempt and the next attempt of an edit.
struct ForwardDelay: Sendable {
  let duration: Duration
  /// The date of the next attempt.
  let end: Date

  /// Makes a delay of at most ``ForwardOptions/longestDelay``, and of a time that a store can keep.
  init(_ duration: Duration, from now: Date, _ options: ForwardOptions) {
    self.duration = min(duration, options.longestDelay).limitedForSleep
    // An attempt without a delay gets ``OutboxEntryRecord/atOnce`` instead of the present date, which would lie in the
    // future after the clock is set back.
    end =
      self.duration > .zero ? now.addingTimeInterval(self.duration / .seconds(1)) : OutboxEntryRecord.atOnce
  }

  /// Makes the delay of the policy, or the longer delay that the error advises.
  ///
  /// - Parameter attempt: The number of the attempt, from which the policy computes its delay.
  init(after error: any Error, attempt: Int, from now: Date, _ options: ForwardOptions) {
    self.init(options.retry.delay(afterAttempt: attempt, throwing: error, at: now), from: now, options)
  }
}
