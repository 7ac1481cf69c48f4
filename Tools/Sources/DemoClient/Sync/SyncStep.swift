/// The progress of a synchronization.
package struct SyncStep: Sendable, Equatable {
  package enum Phase: String, Sendable {
    case pulling = "Pulling pages"
    case linking = "Linking packages"
    case pruning = "Deleting what is gone"
  }

  package let phase: Phase
  /// The number of finished parts of the phase.
  package let done: Int
  package let total: Int

  package init(phase: Phase, done: Int, total: Int) {
    self.phase = phase
    self.done = done
    self.total = total
  }
}
