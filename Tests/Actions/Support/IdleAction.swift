@testable import CoherenceActions

/// An action of a queue that does nothing, and always waits to begin.
final class IdleAction: QueuedAction {
  let priority = ActionPriority.normal
  let isPending = true
  let limit: ConcurrencyLimit? = nil
  let mayBlock = true
  func run(inLane lane: Int) -> UInt64? { 0 }
}
