import Synchronization

/// Calls a block once, at the last of a fixed number of steps. The steps may come from different threads.
final class Countdown: Sendable {
  private let remaining: Atomic<Int>
  private let block: @Sendable () -> Void

  init(_ steps: Int, _ block: @escaping @Sendable () -> Void) {
    remaining = Atomic(steps)
    self.block = block
  }

  func step() {
    if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { block() }
  }
}
